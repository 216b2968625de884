// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import "time"

// Bounds on what one member may send. They are far above what a healthy member needs and low enough that a hostile one
// costs the hub no more than a share it can spare.
const (
	maxMessageBytes = 4 << 20 // one message, after decompression
	maxMemberBytes  = 64 << 20
	maxServices     = 5000
	maxRefusalText  = 1024

	maxPods        = 5000 // of one service
	maxWorkloads   = 500
	maxPorts       = 250
	maxAnnotations = 64
	maxSelector    = 64
	maxRules       = 256
	maxBudgets     = 16
	maxRuleBytes   = 64 << 10

	maxIstiods        = 64
	maxRemoteClusters = 1000
	maxMissing        = 200
	maxGateways       = 500
	maxAddresses      = 16
	maxNamespaces     = 5000
	maxFindings       = 500
	maxCallers        = 50

	maxServed     = 5000 // kinds that an API server serves
	maxServedName = 384  // a group, a version and a kind

	maxNodesInPart = 1000
	maxDeltas      = 1000
	maxConditions  = 64
	maxVersion     = 1 << 53 // a number that never runs over, nor loses digits in JSON

	maxProxies    = 200 // named for one istiod
	maxVerdictOut = 50  // named as missing, unweighted or as a reason

	maxName       = 253
	maxText       = 1024
	maxAnnotation = 4096
	maxCount      = 1_000_000
	maxAgeMillis  = int64(366 * 24 * time.Hour / time.Millisecond)
)

// What a member may send in a second, and at once after a pause. A member that sends faster is read more slowly, which
// holds back its own beats and nobody else's.
const (
	bytesPerSecond    = 8 << 20
	bytesBurst        = 64 << 20
	messagesPerSecond = 2000
	messagesBurst     = 20_000
)

// How often a member may open a session. An agent that loses its link backs off and stays far below it.
const (
	sessionsPerSecond = 1
	sessionsBurst     = 20
)

// How often a member's view may get out of step, which costs a snapshot each time.
const (
	resyncEvery = 30 * time.Second
	resyncBurst = 10
)

// Times that both ends keep. Each end notices a link that was cut without a word within ten seconds: the hub by the
// transport's own keepalive, the agent by the hub's acknowledgements, since gRPC lets a client ping no oftener than
// every ten seconds.
const (
	ackInterval      = 3 * time.Second // also sent when there is nothing new to acknowledge
	hubSilence       = 9 * time.Second // the agent hangs up after this much of it
	keepaliveAfter   = 4 * time.Second
	keepaliveTimeout = 5 * time.Second
	helloTimeout     = 10 * time.Second
	refusalTimeout   = time.Second
	publishInterval  = 10 * time.Millisecond
	freshBeats       = 3               // a view is fresh for as long as that many beats take
	beatGrace        = 2 * time.Second // a beat that is later than this is asked for
	viewInterval     = 50 * time.Millisecond
)
