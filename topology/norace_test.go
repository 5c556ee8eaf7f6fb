//go:build !race

package topology

const raceDetector = false
