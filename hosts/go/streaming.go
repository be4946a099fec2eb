package pywasmtok

import "slices"

// Stream is text of ids that come one by one. A copy of the value is a stream of its own.
type Stream struct {
	tokenizer *Tokenizer
	state     []byte
}

// Stream begins behind the ids of a prompt.
func (t *Tokenizer) Stream(prompt []uint32, options *DecodeOptions) (*Stream, error) {
	flags, err := t.streamFlags(options)
	if err == nil {
		err = t.put(littleEndian(prompt))
	}
	if err == nil {
		_, err = t.count("pwt_stream_new", uint32(len(prompt)), flags)
	}
	if err != nil {
		return nil, err
	}
	return &Stream{t, t.state()}, nil
}

// Push gives the text that is certain now.
func (s *Stream) Push(ids ...uint32) (string, error) { return s.step(ids, 0) }

// Flush gives what was held back; the ids end here.
func (s *Stream) Flush() (string, error) { return s.step(nil, stepFinish) }

func (s *Stream) step(ids []uint32, flags uint32) (string, error) {
	t := s.tokenizer
	if err := t.put(littleEndian(ids), s.state); err != nil {
		return "", err
	}
	length, err := t.count("pwt_stream_step", uint32(len(ids)), uint32(len(s.state)), flags)
	if err != nil {
		return "", err
	}
	s.state = t.state()
	return string(t.bytes(fieldTextPtr, length)), nil
}

// StopConfig says what ends a text.
type StopConfig struct {
	// Tokens and sequences that stop the text; visible ones are a part of it.
	StopTokens           []uint32 `json:"stop_tokens,omitempty"`
	VisibleStopTokens    []uint32 `json:"visible_stop_tokens,omitempty"`
	StopSequences        []string `json:"stop_sequences,omitempty"`
	VisibleStopSequences []string `json:"visible_stop_sequences,omitempty"`
	// EOSTokens are hidden stops, unless another list has them or IgnoreEOS is true.
	EOSTokens []uint32 `json:"eos_tokens,omitempty"`
	IgnoreEOS bool     `json:"ignore_eos,omitempty"`
	// MinTokens is how many ids come before anything stops.
	MinTokens uint64 `json:"min_tokens,omitempty"`
}

// Match is what stopped a text: a token, or a sequence if Sequence is not empty.
type Match struct {
	ID       uint32
	Sequence string
	Visible  bool
	// TokenIndex counts the ids of the text from 0; -1 is before the first.
	TokenIndex int64
	// Start and End are places in the text, in bytes.
	Start, End int64
}

// Stop is a stream that ends at a stop.
type Stop struct {
	tokenizer   *Tokenizer
	config      StopConfig
	said, state []byte
	match       *Match
}

// Stop begins behind the ids of a prompt.
func (t *Tokenizer) Stop(config StopConfig, prompt []uint32, options *DecodeOptions) (*Stop, error) {
	flags, err := t.streamFlags(options)
	if err != nil {
		return nil, err
	}
	// A match names a sequence, whatever the caller does with the lists meanwhile.
	config.StopSequences = slices.Clone(config.StopSequences)
	config.VisibleStopSequences = slices.Clone(config.VisibleStopSequences)
	said, err := jsonOf(config, slices.Concat(config.StopSequences, config.VisibleStopSequences)...)
	if err == nil {
		err = t.put(littleEndian(prompt), said)
	}
	if err == nil {
		_, err = t.count("pwt_stop_new", uint32(len(prompt)), uint32(len(said)), flags)
	}
	if err != nil {
		return nil, err
	}
	return &Stop{tokenizer: t, config: config, said: said, state: t.state()}, nil
}

// Match is nil until something has stopped the text.
func (s *Stop) Match() *Match { return s.match }

// Push gives the text that is certain now; nothing once the text has stopped.
func (s *Stop) Push(ids ...uint32) (string, error) { return s.step(ids, 0) }

// Flush gives what was held back; the ids end here.
func (s *Stop) Flush() (string, error) { return s.step(nil, stepFinish) }

func (s *Stop) step(ids []uint32, flags uint32) (string, error) {
	if s.match != nil {
		return "", nil
	}
	t := s.tokenizer
	if err := t.put(littleEndian(ids), s.said, s.state); err != nil {
		return "", err
	}
	length, err := t.count("pwt_stop_step", uint32(len(ids)), uint32(len(s.said)), uint32(len(s.state)), flags)
	if err != nil {
		return "", err
	}
	found := string(t.bytes(fieldTextPtr, length))
	report := t.numbers(fieldBoundsPtr, t.field(fieldBoundsLen))
	s.state = t.state()
	if len(report) > 1 && report[1] != 0 {
		s.match = s.matched(report)
	}
	return found, nil
}

func (s *Stop) matched(report []uint32) *Match {
	wide := func(word int) int64 { return int64(uint64(report[word+1])<<32 | uint64(report[word])) }
	found := &Match{Visible: report[3] == 1, TokenIndex: wide(4), Start: wide(6), End: wide(8)}
	switch {
	case report[1] == 1:
		found.ID = report[2]
	case found.Visible:
		found.Sequence = s.config.VisibleStopSequences[report[2]]
	default:
		found.Sequence = s.config.StopSequences[report[2]]
	}
	return found
}
