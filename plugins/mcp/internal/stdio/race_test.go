//go:build race

package stdio

// restarts is fewer under the race detector, where a test binary takes long
// to start.
const restarts = 15
