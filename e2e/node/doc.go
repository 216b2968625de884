// Package node pins the programs that make a node of the rig, in a module of its own.
package node
