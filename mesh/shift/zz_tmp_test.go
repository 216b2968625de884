package shift
import "testing"
func TestZZ(t *testing.T) {
	c := newCoverage()
	for _, u := range suites()[15:17] {
		t.Run(u.name, func(t *testing.T) { a,b,l := check(t,u,c); t.Log(a,b,l) })
	}
	c.report(t)
}
