//go:build !race

package stdio

const restarts = 100
