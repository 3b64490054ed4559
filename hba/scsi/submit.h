/* The spine that every command passes: in by scsi_submit, out by scsi_complete. */
#ifndef SCSI_SUBMIT_H
#define SCSI_SUBMIT_H

struct scsi_cmd;

/* The command is answered (status, sense and data_in are set): the one way out. */
void scsi_complete(struct scsi_cmd *);
void cmd_residual(struct scsi_cmd *);

#endif
