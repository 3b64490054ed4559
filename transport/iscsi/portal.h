/* Listening sockets of a portal. */
#ifndef ISCSI_PORTAL_H
#define ISCSI_PORTAL_H

struct conf_portal;

int portal_open(const struct conf_portal *);
void portal_close(const struct conf_portal *);

#endif
