package pywasmtok

// Stream is text of ids that come one by one. Copying the value copies the stream.
type Stream struct {
	tokenizer *Tokenizer
	state     []byte
}

func (t *Tokenizer) Stream(prompt []uint32, flags uint32) (*Stream, error) {
	if err := t.put(littleEndian(prompt)); err != nil {
		return nil, err
	}
	if _, err := t.count("pwt_stream_new", uint32(len(prompt)), flags); err != nil {
		return nil, err
	}
	return &Stream{t, t.state()}, nil
}

func (s *Stream) Push(ids ...uint32) (string, error) { return s.step(ids, 0) }
func (s *Stream) Flush() (string, error)             { return s.step(nil, StepFinish) }

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
	return string(t.bytes(FieldTextPtr, length)), nil
}

// Stop is a stream that ends at a stop.
type Stop struct {
	tokenizer     *Tokenizer
	config, state []byte
	// Report is that of docs/abi.md: its second word says whether something stopped.
	Report []uint32
}

func (t *Tokenizer) Stop(config []byte, prompt []uint32, flags uint32) (*Stop, error) {
	if err := t.put(littleEndian(prompt), config); err != nil {
		return nil, err
	}
	_, err := t.count("pwt_stop_new", uint32(len(prompt)), uint32(len(config)), flags)
	if err != nil {
		return nil, err
	}
	return &Stop{tokenizer: t, config: config, state: t.state()}, nil
}

// Stopped says whether the text has ended.
func (s *Stop) Stopped() bool { return len(s.Report) > 1 && s.Report[1] != 0 }

func (s *Stop) Push(ids ...uint32) (string, error) { return s.step(ids, 0) }
func (s *Stop) Flush() (string, error)             { return s.step(nil, StepFinish) }

func (s *Stop) step(ids []uint32, flags uint32) (string, error) {
	t := s.tokenizer
	if err := t.put(littleEndian(ids), s.config, s.state); err != nil {
		return "", err
	}
	sizes := []uint32{uint32(len(ids)), uint32(len(s.config)), uint32(len(s.state)), flags}
	length, err := t.count("pwt_stop_step", sizes...)
	if err != nil {
		return "", err
	}
	said := string(t.bytes(FieldTextPtr, length))
	s.Report = t.numbers(FieldBoundsPtr, t.field(FieldBoundsLen))
	s.state = t.state()
	return said, nil
}

func (t *Tokenizer) state() []byte { return t.bytes(FieldStatePtr, t.field(FieldStateLen)) }
