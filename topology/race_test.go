//go:build race

package topology

// The race detector makes everything several times slower.
const raceDetector = true
