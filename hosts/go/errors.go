package pywasmtok

import "fmt"

// Kind names what went wrong. It is an error itself, for errors.Is:
//
//	errors.Is(err, pywasmtok.KindUnsupported)
type Kind string

func (k Kind) Error() string { return string(k) }

// Kinds of the host, beside those of the core.
const (
	// KindHost is a module that this host cannot work with.
	KindHost Kind = "host"
	// KindTrap is a call that ended in a trap: its tokenizer is lost.
	KindTrap Kind = "trap"
)

// Error is what the core reports, or the host.
type Error struct {
	Kind    Kind
	Message string
	// Path is a place in the file or the arguments, such as "texts[3]".
	Path string
	// Feature is what is unsupported, or the special token that is in a text.
	Feature string
	// Offset is a place in the file or the text, in bytes; -1 is none.
	Offset int64
	cause  error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Kind, e.Message) }

// Unwrap gives the kind, and what the runtime said of a trap.
func (e *Error) Unwrap() []error {
	if e.cause != nil {
		return []error{e.Kind, e.cause}
	}
	return []error{e.Kind}
}
