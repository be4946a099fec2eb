;; A core for tests of the host: the ABI with the simplest tokenizer there is (each byte of a text
;; is an id), and a text that starts with the byte 1 and a letter makes it misbehave.
;;
;; The words in braces are replaced: {memory} by an own or an imported shared memory, {bump} by the
;; operation that takes memory from the heap, {exports} by what only workers need.
(module
  {memory}
  {exports}
  (global $stack (mut i32) (i32.const 60000))
  (export "__stack_pointer" (global $stack))

  ;; Byte 16: where the free memory starts. Byte 20: length of the panic text, byte 56: its place.
  (data (i32.const 56) "\40\00\00\00")
  (data (i32.const 64) "the test core panicked")
  (data (i32.const 128) "no bytes to load")
  (data (i32.const 160) "a broken file")
  (data (i32.const 192) "$.model.merges[3]")
  (data (i32.const 224) "normalizer:Odd")
  (data (i32.const 256) "{{\"format\":\"test\"}}")
  (data (i32.const 288) "no such id")
  ;; Two tokens: 7 = "\c3\a9" and 300 = "<s>".
  (data (i32.const 320) "\07\00\00\00\02\00\00\00\c3\a9\2c\01\00\00\03\00\00\00<s>")
  ;; Of a conversion: three bounds, and behind them a file and a list of one difference.
  (data (i32.const 352) "\00\00\00\00\02\00\00\00\09\00\00\00")
  (data (i32.const 376) "{{}}[\"a:b\"]")

  (data (i32.const 400) "[]")
  (data (i32.const 448) "panicked at raw_vec/mod.rs:28:5:\0acapacity overflow")

  (func (export "pwt_abi_version") (result i32) (i32.const 1))
  (func (export "pwt_panic_ptr") (result i32) (i32.load (i32.const 56)))
  (func (export "pwt_panic_len") (result i32)
    (if (i32.eq (i32.load (i32.const 20)) (i32.const -1)) (then unreachable))
    (i32.load (i32.const 20)))

  ;; Memory of at least $size bytes, 64-byte aligned, zeroed; 0 = there is no more.
  (func $take (param $size i32) (result i32) (local $at i32) (local $end i32)
    (local.set $size (i32.and (i32.add (local.get $size) (i32.const 127)) (i32.const -64)))
    (local.set $at (i32.add (i32.const 65536) {bump}))
    (local.set $end (i32.add (local.get $at) (local.get $size)))
    (if (i32.lt_u (local.get $end) (local.get $at)) (then (return (i32.const 0))))
    (if (i32.gt_u (local.get $end) (i32.mul (memory.size) (i32.const 65536)))
      (then
        (if (i32.eq (i32.const -1)
              (memory.grow (i32.add (i32.const 1)
                (i32.shr_u (i32.sub (local.get $end) (i32.mul (memory.size) (i32.const 65536)))
                           (i32.const 16)))))
          (then (return (i32.const 0))))))
    (local.get $at))

  ;; As long as the word at 28 says that a call holds the allocator, this waits, awake.
  (func (export "pwt_memory_new") (param i32) (result i32)
    (loop $held (br_if $held (i32.load (i32.const 28))))
    (call $take (local.get 0)))
  (func (export "pwt_memory_free") (param i32))
  (func (export "pwt_session_new") (result i32) (call $take (i32.const 104)))
  (func (export "pwt_session_free") (param $s i32)
    (memory.fill (local.get $s) (i32.const 0) (i32.const 104)))
  (func (export "pwt_tokenizer_free") (param i32))

  (func (export "pwt_input") (param $s i32) (param $len i32) (result i32) (local $at i32)
    (i32.store (local.get $s) (i32.const 0))
    (if (i32.ge_u (i32.load offset=40 (local.get $s)) (local.get $len))
      (then (return (i32.load offset=36 (local.get $s)))))
    (local.set $at (call $take (i32.add (local.get $len) (i32.const 32))))
    (if (local.get $at)
      (then
        (i32.store offset=36 (local.get $s) (local.get $at))
        (i32.store offset=40 (local.get $s) (local.get $len))))
    (local.get $at))

  ;; Leaves an error in the session and answers -1.
  (func $fail (param $s i32) (param $kind i32) (param $message i32) (param $length i32)
              (result i32)
    (i32.store (local.get $s) (local.get $kind))
    (i64.store offset=4 (local.get $s) (i64.const -1))
    (i32.store offset=12 (local.get $s) (local.get $message))
    (i32.store offset=16 (local.get $s) (local.get $length))
    (i32.store offset=24 (local.get $s) (i32.const 0))
    (i32.store offset=32 (local.get $s) (i32.const 0))
    (i32.const -1))

  ;; The file is copied: handle = address of its length, its bytes behind it.
  (func (export "pwt_load_with") (param $s i32) (param $len i32) (param $options i32) (result i32)
    (call $load (local.get $s) (local.get $len)))

  (func $load (export "pwt_load") (param $s i32) (param $len i32) (result i32)
        (local $in i32) (local $at i32) (local $first i32)
    (local.set $in (i32.load offset=36 (local.get $s)))
    (if (i32.eqz (local.get $len))
      (then (drop (call $fail (local.get $s) (i32.const 1) (i32.const 128) (i32.const 16)))
            (return (i32.const 0))))
    (local.set $first (i32.load8_u (local.get $in)))
    (if (i32.eq (local.get $first) (i32.const 33)) ;; !
      (then
        (drop (call $fail (local.get $s) (i32.const 6) (i32.const 160) (i32.const 13)))
        (i64.store offset=4 (local.get $s) (i64.const 0x100000002))
        (i32.store offset=20 (local.get $s) (i32.const 192))
        (i32.store offset=24 (local.get $s) (i32.const 17))
        (return (i32.const 0))))
    (if (i32.eq (local.get $first) (i32.const 63)) ;; ?
      (then
        (drop (call $fail (local.get $s) (i32.const 7) (i32.const 160) (i32.const 13)))
        (i32.store offset=28 (local.get $s) (i32.const 224))
        (i32.store offset=32 (local.get $s) (i32.const 14))
        (return (i32.const 0))))
    (if (i32.eq (local.get $first) (i32.const 1)) (then (call $misbehave (local.get $s))))
    (local.set $at (call $take (i32.add (local.get $len) (i32.const 4))))
    (if (i32.eqz (local.get $at))
      (then (drop (call $fail (local.get $s) (i32.const 12) (i32.const 0) (i32.const 0)))
            (return (i32.const 0))))
    (i32.store (local.get $at) (local.get $len))
    (memory.copy (i32.add (local.get $at) (i32.const 4)) (local.get $in) (local.get $len))
    (local.get $at))

  ;; What the letter behind the byte 1 stands for.
  (func $misbehave (param $s i32) (local $what i32) (local $n i32) (local $left i64)
    (local.set $what (i32.load8_u offset=1 (i32.load offset=36 (local.get $s))))
    (if (i32.eq (local.get $what) (i32.const 115)) (then (loop $spin (br $spin)))) ;; s
    (if (i32.eq (local.get $what) (i32.const 108)) ;; l
      (then (i32.store (i32.const 28) (i32.const 1)) (loop $spin (br $spin))))
    (if (i32.eq (local.get $what) (i32.const 111)) ;; o
      (then (drop (i32.load (i32.const -4)))))
    (if (i32.eq (local.get $what) (i32.const 114)) ;; r
      (then (drop (call $recurse (i32.const 1)))))
    (if (i32.eq (local.get $what) (i32.const 122)) ;; z
      (then (drop (i32.div_u (i32.const 1) (i32.load (i32.const 24))))))
    (if (i32.eq (local.get $what) (i32.const 117)) (then unreachable)) ;; u
    (if (i32.eq (local.get $what) (i32.const 112)) ;; p: panics
      (then (i32.store (i32.const 20) (i32.const 22)) unreachable))
    (if (i32.eq (local.get $what) (i32.const 113)) ;; q: panics, and traps again when asked for the text
      (then (i32.store (i32.const 20) (i32.const -1)) unreachable))
    (if (i32.eq (local.get $what) (i32.const 99)) ;; c: takes all memory, then a vector is too long
      (then
        (loop $more
          (br_if $more (i32.ne (i32.const -1) (memory.grow (i32.const 1024)))))
        (i32.store (i32.const 56) (i32.const 448))
        (i32.store (i32.const 20) (i32.const 50))
        unreachable))
    (if (i32.eq (local.get $what) (i32.const 103)) ;; g: takes all memory, then panics
      (then
        (loop $more
          (br_if $more (i32.ne (i32.const -1) (memory.grow (i32.const 1024)))))
        unreachable))
    (if (i32.eq (local.get $what) (i32.const 104)) ;; h: until the host sets byte 32, a minute or so
      (then
        (local.set $left (i64.const 200000000000))
        (loop $on
          (local.set $left (i64.sub (local.get $left) (i64.const 1)))
          (br_if $on (i32.and (i64.ne (local.get $left) (i64.const 0))
                              (i32.eqz (i32.load8_u (i32.const 32))))))))
    (if (i32.eq (local.get $what) (i32.const 119)) ;; w: works for a while
      (then
        (local.set $n (i32.const 300000000))
        (loop $on
          (local.set $n (i32.sub (local.get $n) (i32.const 1)))
          (br_if $on (local.get $n))))))

  (func $recurse (param $depth i32) (result i32)
    (i32.add (call $recurse (i32.add (local.get $depth) (i32.const 1)))
             (call $recurse (i32.add (local.get $depth) (i32.const 2)))))

  ;; Ids for $len bytes at $from, appended at $to: each byte is one; answers the end.
  (func $spell (param $from i32) (param $len i32) (param $to i32) (result i32) (local $end i32)
    (local.set $end (i32.add (local.get $from) (local.get $len)))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $from) (local.get $end)))
        (i32.store (local.get $to) (i32.load8_u (local.get $from)))
        (local.set $from (i32.add (local.get $from) (i32.const 1)))
        (local.set $to (i32.add (local.get $to) (i32.const 4)))
        (br $next)))
    (local.get $to))

  ;; Room for $count ids; the flag for special tokens puts 300 in front.
  (func $ids (param $s i32) (param $count i32) (param $flags i32) (result i32) (local $at i32)
    (i32.store (local.get $s) (i32.const 0))
    (local.set $at (call $take (i32.mul (i32.add (local.get $count) (i32.const 1)) (i32.const 4))))
    (i32.store offset=44 (local.get $s) (local.get $at))
    (if (i32.and (local.get $flags) (i32.const 1))
      (then
        (i32.store (local.get $at) (i32.const 300))
        (local.set $at (i32.add (local.get $at) (i32.const 4)))))
    (local.get $at))

  (func $counted (param $s i32) (param $end i32) (result i32) (local $count i32)
    (local.set $count
      (i32.shr_u (i32.sub (local.get $end) (i32.load offset=44 (local.get $s))) (i32.const 2)))
    (i32.store offset=48 (local.get $s) (local.get $count))
    (local.get $count))

  (func (export "pwt_encode") (param $s i32) (param $t i32) (param $len i32) (param $flags i32)
        (result i32) (local $in i32) (local $count i32) (local $what i32) (local $heap i32)
    (local.set $in (i32.load offset=36 (local.get $s)))
    (local.set $what (i32.const 0))
    (if (i32.and (i32.gt_u (local.get $len) (i32.const 1))
                 (i32.eq (i32.load8_u (local.get $in)) (i32.const 1)))
      (then
        (local.set $what (i32.load8_u offset=1 (local.get $in)))
        (call $misbehave (local.get $s))
        (if (i32.eq (local.get $what) (i32.const 66)) (then (return (i32.const -2)))) ;; B
        (if (i32.eq (local.get $what) (i32.const 69)) ;; E: an error without a kind
          (then (i32.store (local.get $s) (i32.const 0)) (return (i32.const -1))))
        (if (i32.eq (local.get $what) (i32.const 75)) ;; K: an unknown kind
          (then (return (call $fail (local.get $s) (i32.const 99) (i32.const 160) (i32.const 13)))))
        (if (i32.eq (local.get $what) (i32.const 77)) ;; M: a message outside the memory
          (then (return (call $fail (local.get $s) (i32.const 8) (i32.const -16) (i32.const -1)))))
        (if (i32.eq (local.get $what) (i32.const 76)) ;; L: an honest error
          (then (return (call $fail (local.get $s) (i32.const 8) (i32.const 160) (i32.const 13)))))
        (if (i32.eq (local.get $what) (i32.const 78)) ;; N: more ids than the memory holds
          (then
            (i32.store offset=44 (local.get $s) (i32.const 1024))
            (return (i32.const 0x7fffffff))))
        (if (i32.eq (local.get $what) (i32.const 80)) ;; P: ids outside the memory
          (then (i32.store offset=44 (local.get $s) (i32.const -4)) (return (i32.const 2))))
        (if (i32.eq (local.get $what) (i32.const 71)) ;; G: grows, and encodes behind the old end
          (then (drop (call $take (i32.mul (memory.size) (i32.const 65536))))))))
    ;; Buffers of one call are given up after it, or this bump allocator would never end.
    (local.set $heap (i32.load (i32.const 16)))
    (local.set $count
      (call $counted (local.get $s)
        (call $spell (local.get $in) (local.get $len)
          (call $ids (local.get $s) (local.get $len) (local.get $flags)))))
    (if (i32.and (local.get $flags) (i32.const 2))
      (then (call $details (local.get $s) (local.get $count) (local.get $what))))
    {give_back}
    (local.get $count))

  ;; The index of each id in every table; tokens are single letters "a".
  (func $details (param $s i32) (param $count i32) (param $what i32) (local $n i32) (local $at i32)
    (i32.store offset=60 (local.get $s)
      (call $take (i32.mul (local.get $count) (i32.const 8))))
    (i32.store offset=64 (local.get $s)
      (call $take (i32.mul (local.get $count) (i32.const 8))))
    (i32.store offset=68 (local.get $s)
      (call $take (i32.mul (local.get $count) (i32.const 4))))
    (i32.store offset=72 (local.get $s) (call $take (local.get $count)))
    (i32.store offset=76 (local.get $s) (call $take (local.get $count)))
    (i32.store offset=80 (local.get $s)
      (call $take (i32.mul (local.get $count) (i32.const 5))))
    (i32.store offset=84 (local.get $s) (i32.mul (local.get $count) (i32.const 5)))
    (local.set $at (i32.load offset=80 (local.get $s)))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $n) (local.get $count)))
        (i64.store (i32.add (i32.load offset=60 (local.get $s))
                            (i32.mul (local.get $n) (i32.const 8)))
                   (i64.extend_i32_u (local.get $n)))
        (i64.store (i32.add (i32.load offset=64 (local.get $s))
                            (i32.mul (local.get $n) (i32.const 8))) (i64.const 9))
        (i32.store (i32.add (i32.load offset=68 (local.get $s))
                            (i32.mul (local.get $n) (i32.const 4))) (i32.const 0))
        (i32.store8 (i32.add (i32.load offset=72 (local.get $s)) (local.get $n))
                    (i32.eqz (local.get $n)))
        (i32.store8 (i32.add (i32.load offset=76 (local.get $s)) (local.get $n)) (i32.const 1))
        (i32.store (local.get $at) (i32.const 1))
        (i32.store8 offset=4 (local.get $at) (i32.const 97))
        (local.set $at (i32.add (local.get $at) (i32.const 5)))
        (local.set $n (i32.add (local.get $n) (i32.const 1)))
        (br $next)))
    (if (i32.eq (local.get $what) (i32.const 84)) ;; T: a token longer than the table
      (then (i32.store (i32.load offset=80 (local.get $s)) (i32.const -1))))
    (if (i32.eq (local.get $what) (i32.const 85)) ;; U: a token that is no UTF-8
      (then (i32.store8 offset=4 (i32.load offset=80 (local.get $s)) (i32.const 0xff)))))

  (func (export "pwt_encode_pair") (param $s i32) (param $t i32) (param $a i32) (param $b i32)
        (param $flags i32) (result i32)
    (call $counted (local.get $s)
      (call $spell (i32.load offset=36 (local.get $s)) (i32.add (local.get $a) (local.get $b))
        (call $ids (local.get $s) (i32.add (local.get $a) (local.get $b)) (local.get $flags)))))

  ;; Bounds for $count lengths at the start of the input, times $unit; answers their sum.
  (func $bounds (param $s i32) (param $count i32) (result i32)
        (local $in i32) (local $at i32) (local $sum i32) (local $n i32)
    (local.set $in (i32.load offset=36 (local.get $s)))
    (local.set $at (call $take (i32.mul (i32.add (local.get $count) (i32.const 1)) (i32.const 4))))
    (i32.store offset=52 (local.get $s) (local.get $at))
    (i32.store offset=56 (local.get $s) (i32.add (local.get $count) (i32.const 1)))
    (i32.store (local.get $at) (i32.const 0))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $n) (local.get $count)))
        (local.set $sum (i32.add (local.get $sum) (i32.load (local.get $in))))
        (local.set $in (i32.add (local.get $in) (i32.const 4)))
        (local.set $at (i32.add (local.get $at) (i32.const 4)))
        (i32.store (local.get $at) (local.get $sum))
        (local.set $n (i32.add (local.get $n) (i32.const 1)))
        (br $next)))
    (local.get $sum))

  ;; The policy is not read.
  (func (export "pwt_encode_with") (param $s i32) (param $t i32) (param $count i32)
        (param $policy i32) (param $flags i32) (result i32) (local $sum i32)
    (local.set $sum (call $bounds (local.get $s) (local.get $count)))
    (call $counted (local.get $s)
      (call $spell
        (i32.add (i32.load offset=36 (local.get $s)) (i32.mul (local.get $count) (i32.const 4)))
        (local.get $sum)
        (call $ids (local.get $s) (local.get $sum) (i32.const 0)))))

  ;; A text that starts with the byte 2 gets bounds that run backwards.
  (func (export "pwt_encode_batch") (param $s i32) (param $t i32) (param $count i32)
        (param $flags i32) (result i32) (local $sum i32) (local $texts i32)
    (local.set $sum (call $bounds (local.get $s) (local.get $count)))
    (local.set $texts (i32.add (i32.load offset=36 (local.get $s))
                               (i32.mul (local.get $count) (i32.const 4))))
    (if (i32.eq (i32.load8_u (local.get $texts)) (i32.const 2))
      (then (i32.store offset=4 (i32.load offset=52 (local.get $s)) (i32.const -1))))
    (call $counted (local.get $s)
      (call $spell (local.get $texts) (local.get $sum)
        (call $ids (local.get $s) (local.get $sum) (i32.const 0)))))

  ;; One id a byte. A text that starts with the byte 2 is said to be kept from beyond its end.
  (func (export "pwt_count") (param $s i32) (param $t i32) (param $len i32) (param $flags i32)
        (param $limit i32) (result i32)
    (i32.store (local.get $s) (i32.const 0))
    (i32.add (local.get $len) (i32.and (local.get $flags) (i32.const 1))))

  (func (export "pwt_truncate") (param $s i32) (param $t i32) (param $len i32) (param $flags i32)
        (param $limit i32) (result i32) (local $kept i32) (local $in i32) (local $at i32)
    (local.set $in (i32.load offset=36 (local.get $s)))
    (local.set $kept
      (select (local.get $limit) (local.get $len)
        (i32.lt_u (local.get $limit) (local.get $len))))
    (local.set $at (call $take (i32.const 16)))
    (i32.store offset=52 (local.get $s) (local.get $at))
    (i32.store offset=56 (local.get $s) (i32.const 4))
    (i32.store (local.get $at) (i32.const 0))
    (i32.store offset=4 (local.get $at) (local.get $kept))
    (i32.store offset=8 (local.get $at) (i32.lt_u (local.get $kept) (local.get $len)))
    (i32.store offset=12 (local.get $at) (i32.const 0))
    (if (i32.and (i32.ne (local.get $len) (i32.const 0))
                 (i32.eq (i32.load8_u (local.get $in)) (i32.const 2)))
      (then (i32.store (local.get $at) (i32.const -1))))
    (call $counted (local.get $s)
      (call $spell (local.get $in) (local.get $kept)
        (call $ids (local.get $s) (local.get $kept) (i32.const 0)))))

  ;; A text may be cut anywhere, but for one that starts with the byte 2: that is cut behind its end.
  (func (export "pwt_last_cut") (param $s i32) (param $t i32) (param $len i32)
        (param $at_most i32) (result i32)
    (i32.store (local.get $s) (i32.const 0))
    (i32.store offset=92 (local.get $s) (i32.const 0))
    (if (i32.eq (i32.load8_u (i32.load offset=36 (local.get $s))) (i32.const 2))
      (then (return (i32.add (local.get $at_most) (i32.const 1)))))
    (local.get $at_most))

  ;; Bytes for $count ids at $from; 300 is left out if $flags ask for that, 301 is an error.
  (func $letters (param $s i32) (param $from i32) (param $count i32) (param $flags i32)
        (result i32) (local $at i32) (local $n i32) (local $id i32)
    (i32.store (local.get $s) (i32.const 0))
    (local.set $at (call $take (local.get $count)))
    (i32.store offset=88 (local.get $s) (local.get $at))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $n) (local.get $count)))
        (local.set $id (i32.load (local.get $from)))
        (if (i32.eq (local.get $id) (i32.const 301))
          (then
            (return (call $fail (local.get $s) (i32.const 10) (i32.const 288) (i32.const 10)))))
        (if (i32.eqz (i32.and (i32.eq (local.get $id) (i32.const 300)) (local.get $flags)))
          (then
            (i32.store8 (local.get $at) (local.get $id))
            (local.set $at (i32.add (local.get $at) (i32.const 1)))))
        (local.set $from (i32.add (local.get $from) (i32.const 4)))
        (local.set $n (i32.add (local.get $n) (i32.const 1)))
        (br $next)))
    (i32.store offset=92 (local.get $s)
      (i32.sub (local.get $at) (i32.load offset=88 (local.get $s))))
    (i32.load offset=92 (local.get $s)))

  (func (export "pwt_decode") (param $s i32) (param $t i32) (param $count i32) (param $flags i32)
        (result i32)
    (call $letters (local.get $s) (i32.load offset=36 (local.get $s)) (local.get $count)
      (local.get $flags)))

  (func (export "pwt_decode_batch") (param $s i32) (param $t i32) (param $count i32)
        (param $flags i32) (result i32) (local $sum i32)
    (local.set $sum (call $bounds (local.get $s) (local.get $count)))
    (call $letters (local.get $s)
      (i32.add (i32.load offset=36 (local.get $s)) (i32.mul (local.get $count) (i32.const 4)))
      (local.get $sum) (i32.const 0)))

  ;; A state is the number of ids so far, as one word; byte 96 of the block says where it is.
  (func $state (param $s i32) (param $count i32) (local $at i32)
    (local.set $at (call $take (i32.const 4)))
    (i32.store (local.get $at) (local.get $count))
    (i32.store offset=96 (local.get $s) (local.get $at))
    (i32.store offset=100 (local.get $s) (i32.const 4)))

  (func (export "pwt_stream_new") (param $s i32) (param $t i32) (param $count i32)
        (param $flags i32) (result i32)
    (i32.store (local.get $s) (i32.const 0))
    (call $state (local.get $s) (i32.const 0))
    (i32.const 4))

  (func (export "pwt_stream_step") (param $s i32) (param $t i32) (param $count i32)
        (param $state i32) (param $flags i32) (result i32) (local $sum i32)
    (local.set $sum (i32.add (local.get $count)
      (i32.load (i32.add (i32.load offset=36 (local.get $s))
                         (i32.mul (local.get $count) (i32.const 4))))))
    (call $state (local.get $s) (local.get $sum))
    (call $letters (local.get $s) (i32.load offset=36 (local.get $s)) (local.get $count)
      (i32.const 0)))

  (func (export "pwt_stop_new") (param $s i32) (param $t i32) (param $count i32)
        (param $config i32) (param $flags i32) (result i32)
    (call $state (local.get $s) (i32.const 0))
    (call $text (local.get $s) (i32.const 400) (i32.const 2)))

  ;; Nothing ever stops the text.
  (func (export "pwt_stop_step") (param $s i32) (param $t i32) (param $count i32)
        (param $config i32) (param $state i32) (param $flags i32) (result i32) (local $at i32)
    (call $state (local.get $s) (local.get $count))
    (local.set $at (call $take (i32.const 8)))
    (i32.store (local.get $at) (local.get $count))
    (i32.store offset=4 (local.get $at) (i32.const 0))
    (i32.store offset=52 (local.get $s) (local.get $at))
    (i32.store offset=56 (local.get $s) (i32.const 2))
    (call $letters (local.get $s) (i32.load offset=36 (local.get $s)) (local.get $count)
      (i32.const 0)))

  (func (export "pwt_token_to_id") (param $s i32) (param $t i32) (param $len i32) (result i32)
    (i32.store (local.get $s) (i32.const 0))
    (if (i32.ne (local.get $len) (i32.const 1)) (then (return (i32.const -1))))
    (i32.load8_u (i32.load offset=36 (local.get $s))))

  (func $text (param $s i32) (param $at i32) (param $len i32) (result i32)
    (i32.store (local.get $s) (i32.const 0))
    (i32.store offset=88 (local.get $s) (local.get $at))
    (i32.store offset=92 (local.get $s) (local.get $len))
    (local.get $len))

  (func (export "pwt_id_to_token") (param $s i32) (param $t i32) (param $id i32) (result i32)
    (i32.store (local.get $s) (i32.const 0))
    (if (i32.eq (local.get $id) (i32.const 300))
      (then (return (call $text (local.get $s) (i32.const 338) (i32.const 3)))))
    (i32.const -1))

  (func (export "pwt_vocab") (param $s i32) (param $t i32) (param $flags i32) (result i32)
    (call $text (local.get $s) (i32.const 320)
      (select (i32.const 21) (i32.const 10) (local.get $flags))))

  (func (export "pwt_info") (param $s i32) (param $t i32) (result i32)
    (call $text (local.get $s) (i32.const 256) (i32.const 17)))

  (func (export "pwt_detect") (param $s i32) (param $len i32) (result i32)
    (call $text (local.get $s) (i32.const 256) (i32.const 17)))

  (func (export "pwt_convert") (param $s i32) (param $len i32) (param $options i32) (result i32)
    (i32.store offset=52 (local.get $s) (i32.const 352))
    (i32.store offset=56 (local.get $s) (i32.const 3))
    (call $text (local.get $s) (i32.const 376) (i32.const 9)))

  (func (export "pwt_fingerprint") (param $s i32) (param $len i32) (param $options i32)
        (result i32)
    (call $text (local.get $s) (i32.const 256) (i32.const 17)))

  (func (export "pwt_extent") (param $s i32) (param $len i32) (result i32)
    (call $text (local.get $s) (i32.const 256) (i32.const 17))))
