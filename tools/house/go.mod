module github.com/weir-io/weir/tools/house

go 1.26.0
