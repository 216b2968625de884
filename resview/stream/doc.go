// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stream is the wire between a member's agent and the hub, both ends of it.
//
// The agent dials and keeps one mutually authenticated connection; over it go beats, facts of the member and of its
// services, and proofs, and back come the targets that the hub wants proven. The hub's end, Server, keeps for each
// member an immutable Snapshot, and an immutable MemberView of its nodes, that anybody reads without a lock. The agent's
// end, Client, keeps the newest value of each fact and sends what the hub does not have.
//
// Promises:
//   - A member speaks for itself only. Its name is the SPIFFE URI of its certificate, which the hub's own Authority
//     signed; no message can name another member, and the name that messages about nodes carry is only compared.
//   - A certificate is given for a token that is valid once, for one member, and stored as a hash; it lives a day and
//     is renewed at two thirds of its life.
//   - What a member sends is bounded in size, number and rate, and checked field by field. A message that breaks a
//     bound ends that session with the reason; the member's earlier facts stay, and no other member notices.
//   - One session for each member: the newer agent replaces the older, and the older is told.
//   - Facts are state, not events. A value that was overtaken before it was sent is never sent; after a reconnect
//     everything is sent once more, and only its end makes the hub forget what was not among it.
//   - What happens to a member's nodes is told by numbered events instead: kept until they are acknowledged, sent again
//     after a link was lost, applied in order and once. Where that can not be kept up, because one of the two was started
//     anew or does not have what is missing, a full snapshot takes its place.
//   - Silence changes nothing but age: after a disconnect the snapshot stays as it was, with Connected false.
//   - A link that is cut without a word is noticed within ten seconds at both ends.
//
// It decides nothing about a member's health and nothing about traffic, writes to no API server, and trusts no clock
// but its own: ages are measured from receipt.
package stream
