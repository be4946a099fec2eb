package pywasmtok;

/** Text of ids that come one by one. */
public final class Stream {
    private final Guest guest;
    private final int handle;
    private byte[] state;

    Stream(Guest guest, int handle, byte[] state) {
        this.guest = guest;
        this.handle = handle;
        this.state = state;
    }

    public Stream copy() {
        return new Stream(guest, handle, state);
    }

    public String push(int... ids) {
        return step(ids, 0);
    }

    public String flush() {
        return step(new int[0], Abi.STEP_FINISH);
    }

    private String step(int[] ids, int flags) {
        guest.put(Guest.littleEndian(ids), state);
        int length = guest.count("pwt_stream_step", handle, ids.length, state.length, flags);
        state = guest.state();
        return guest.text(length);
    }
}
