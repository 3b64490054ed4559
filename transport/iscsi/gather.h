/* The data of one write on its way in (RFC 7143 4.2.5.2, 11.7, 11.8): what is expected next. Pure. */
#ifndef ISCSI_GATHER_H
#define ISCSI_GATHER_H

#include <stdbool.h>
#include <stdint.h>

/*
 *	0        immediate    next     end            asked              len     edtl
 *	|-- here ----------------|------|--- more R2Ts --|-- not solicited --|-------|
 *	                            \ the open burst
 *
 * Bursts are filled in order (DataSequenceInOrder and DataPDUInOrder are always
 * Yes), so one offset tells what is here. Data beyond len (the CDB wants less
 * than the initiator announced) is taken from the wire and thrown away.
 */
struct gather {
	uint32_t edtl;
	uint32_t len;			/* bytes the command takes, once wanted */
	uint32_t next;
	uint32_t end;			/* of the open burst */
	uint32_t asked;
	uint32_t ttt;			/* of the oldest open R2T; the newer ones follow by one */
	uint32_t open;			/* R2Ts open */
	uint32_t r2t_sn;		/* R2Ts sent */
	uint32_t data_sn;		/* expected in the open burst */
	uint16_t sense;			/* ASC << 8 | ASCQ of what went wrong first; 0: nothing */
	bool immediate;			/* immediate data is still coming */
	bool unsolicited;		/* the unsolicited burst is open */
	bool wanted;			/* the device server asked: len is set */
	bool over;			/* after a fault: the burst it was in has been consumed */
};

enum {					/* RFC 7143 11.4.7.2; the sense key is ABORTED COMMAND */
	GATHER_UNEXPECTED = 0x0c0c,	/* unexpected unsolicited data */
	GATHER_AMOUNT = 0x0c0d,		/* incorrect amount of data */
	GATHER_CRC = 0x4705,		/* protocol service CRC error */
};

struct gather_limits {			/* as negotiated */
	uint32_t first_burst, max_burst, max_r2t;
	bool initial_r2t, immediate_data;
};

/* A write command with `immediate` bytes in it; more: its F bit is 0. */
void gather_init(struct gather *, const struct gather_limits *, uint32_t edtl, uint32_t immediate,
    bool more);
/* The device server takes len bytes. */
void gather_want(struct gather *, uint32_t len);

enum gather_verdict {
	GATHER_TAKE,			/* belongs at `offset` */
	GATHER_SWALLOW,			/* part of a burst that already failed, or fails with this */
	GATHER_STRAY,			/* not asked for: no open burst has this tag */
};

/* A Data-Out header of this command. Its payload is consumed whatever the verdict. */
enum gather_verdict gather_data_out(struct gather *, uint32_t ttt, uint32_t data_sn,
    uint32_t offset, uint32_t len, bool final);
/* The payload of the immediate data, or of a Data-Out that was not stray, is over. */
void gather_arrived(struct gather *, const struct gather_limits *, uint32_t len, bool final);
/* Something is wrong with the data that arrives now; the first fault counts. */
void gather_fail(struct gather *, uint16_t sense);
/* The rest will not come. */
void gather_abandon(struct gather *, uint16_t sense);

enum gather_next {
	GATHER_WAIT,
	GATHER_ASK,			/* gather_ask has an R2T to send */
	GATHER_READY,			/* all len bytes are here */
	GATHER_FAILED,			/* finish with .sense */
};
enum gather_next gather_next(const struct gather *, const struct gather_limits *);

/* How many R2Ts the rest takes: tags to set aside before the first gather_ask. */
uint32_t gather_bursts(const struct gather *, const struct gather_limits *);

struct gather_r2t {
	uint32_t ttt, r2t_sn, offset, len;
};
/* The next R2T; first_ttt is that of the command's first. */
void gather_ask(struct gather *, const struct gather_limits *, uint32_t first_ttt,
    struct gather_r2t *);

#endif
