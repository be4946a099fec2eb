package pywasmtok;

/** Text of ids that come one by one, up to the first stop. */
public final class Stop {
    private final Guest guest;
    private final int handle;
    private final byte[] config;
    private byte[] state;
    private int[] report = new int[2];

    Stop(Guest guest, int handle, byte[] config, byte[] state) {
        this.guest = guest;
        this.handle = handle;
        this.config = config;
        this.state = state;
    }

    /** The words of docs/abi.md about what stopped the text. */
    public int[] report() {
        return report.clone();
    }

    public boolean stopped() {
        return report[1] != 0;
    }

    public String push(int id) {
        return step(new int[] {id}, 0);
    }

    public String flush() {
        return step(new int[0], Abi.STEP_FINISH);
    }

    private String step(int[] ids, int flags) {
        guest.put(Guest.littleEndian(ids), config, state);
        int length = guest.count(
                "pwt_stop_step", handle, ids.length, config.length, state.length, flags);
        String text = guest.text(length);
        report = guest.numbers(Abi.FIELD_BOUNDS_PTR, guest.field(Abi.FIELD_BOUNDS_LEN));
        state = guest.state();
        return text;
    }
}
