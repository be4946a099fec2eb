module pywasmtok.example/adapter

go 1.25.0

require pywasmtok.example/pywasmtok v0.1.0

require (
	github.com/tetratelabs/wazero v1.12.0 // indirect
	golang.org/x/sys v0.44.0 // indirect
)

replace pywasmtok.example/pywasmtok => ../../../hosts/go
