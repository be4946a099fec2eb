// The program encodes a text and decodes it again: go run ./examples/encode CORE FILE TEXT
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"pywasmtok.example/pywasmtok"
)

func main() {
	if len(os.Args) != 4 {
		log.Fatal("three arguments: portable.wasm, a tokenizer file, a text")
	}
	if err := run(context.Background(), os.Args[1], os.Args[2], os.Args[3]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, core, file, text string) error {
	wasm, err := os.ReadFile(core)
	if err != nil {
		return err
	}
	compiled, err := pywasmtok.NewCore(ctx, wasm)
	if err != nil {
		return err
	}
	defer compiled.Close(ctx)
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	tokenizer, err := compiled.NewTokenizer(ctx, data, nil)
	if err != nil {
		return err
	}
	encoding, err := tokenizer.Encode(text, &pywasmtok.EncodeOptions{Details: true})
	if err != nil {
		return err
	}
	for n, id := range encoding.IDs {
		fmt.Printf("%d\t%q\t%v\n", id, encoding.Tokens[n], encoding.Offsets[n])
	}
	again, err := tokenizer.Decode(encoding.IDs, nil)
	fmt.Printf("%q\n", again)
	return err
}
