/* Lock-step without a busy wait: this library is loaded into the Doom engines of a network game
(pbt/envs/doom/launcher.py).

In ViZDoom's synchronous mode tic t runs when the commands of all players for tic t are there. The
engine as it is
- spins on recvfrom until they are: with more engines than cores, spinning engines take the time
  that their peers need;
- lets a guest that sees the host's packet early run two tics for one request. Players then count
  different tics and wait for each other for ever, unless the program that drives them holds a
  barrier after every tic;
- asks for packets dozens of times while it draws, sleeps 100 ms at a time while players meet, and
  compresses packets of a few bytes.
With this library an engine gets a packet only when its tic is due, sleeps until there is one, and
does not ask the kernel for what is known. It hears nothing from other machines.

A packet of a running game: byte 0 holds flags and the number of tics that it carries, byte 1 the
low byte of the first of them, then one byte if it asks for a repetition and one if it carries more
than two tics. Its tics can be read only where it is not compressed, so none is in a running
game. */
#ifdef __linux__
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EXIT = 0x80, REPEAT = 0x40, SETUP = 0x20, COMPRESSED = 0x04, TICS = 0x03 };
/* LARGEST_PACKET is MAX_MSGLEN of the engine's d_net.h: it takes and sends that as one datagram. */
enum { MOST_PEERS = 16, MOST_HELD = 64, LARGEST_PACKET = 14000 };
enum { WAIT_MS = 20, ENGINE_NAP_US = 100000, NAP_US = 5000 };
enum { WORTH_COMPRESSING = 256, Z_BUF_ERROR = -5 };

struct peer {
    struct sockaddr_in address;
    uint8_t tics; /* low byte of the number of tics handed to the engine */
    int gone;
};

struct packet {
    struct sockaddr_in from;
    ssize_t size;
    uint8_t bytes[LARGEST_PACKET];
};

static struct peer peers[MOST_PEERS];
static int peer_count;
static struct packet held[MOST_HELD]; /* of later tics, in order of arrival */
static int held_count;
static uint8_t own_tics; /* low byte of the number of tics whose commands were sent */
static int running;      /* the players have met */
static int just_sent;

static ssize_t (*real_recvfrom)(int, void *, size_t, int, struct sockaddr *, socklen_t *);
static ssize_t (*real_sendto)(int, const void *, size_t, int, const struct sockaddr *, socklen_t);
static int (*real_bind)(int, const struct sockaddr *, socklen_t);
static int (*real_usleep)(useconds_t);
static int (*real_compress2)(void *, unsigned long *, const void *, unsigned long, int);

__attribute__((constructor)) static void find_real_functions(void) {
    *(void **)&real_recvfrom = dlsym(RTLD_NEXT, "recvfrom");
    *(void **)&real_sendto = dlsym(RTLD_NEXT, "sendto");
    *(void **)&real_bind = dlsym(RTLD_NEXT, "bind");
    *(void **)&real_usleep = dlsym(RTLD_NEXT, "usleep");
    *(void **)&real_compress2 = dlsym(RTLD_NEXT, "compress2");
}

/* End the engine. The table gets this text, and starts another match. */
__attribute__((noreturn)) static void give_up(const char *found, unsigned flags, ssize_t size) {
    dprintf(STDERR_FILENO, "doom_preload: %s (flags 0x%02x, %zd bytes)\n", found, flags, size);
    _exit(1);
}

/* Low byte of the number of the last tic in a packet, plus one. */
static uint8_t end_of(const uint8_t *bytes, ssize_t size) {
    int tics = bytes[0] & TICS;
    int extra = bytes[0] & REPEAT ? 3 : 2;
    if (tics == TICS && size > extra) {
        tics += bytes[extra];
    }
    return (uint8_t)(bytes[1] + tics);
}

static struct peer *peer_at(const struct sockaddr_in *address) {
    for (int i = 0; i < peer_count; i++) {
        const struct sockaddr_in *known = &peers[i].address;
        if (known->sin_addr.s_addr == address->sin_addr.s_addr &&
            known->sin_port == address->sin_port) {
            return &peers[i];
        }
    }
    return NULL;
}

ssize_t sendto(int fd, const void *buffer, size_t size, int flags, const struct sockaddr *to,
               socklen_t length) {
    const uint8_t *bytes = buffer;
    const struct sockaddr_in *address = (const struct sockaddr_in *)to;
    if (size >= 2 && !(bytes[0] & (EXIT | SETUP))) {
        if (bytes[0] & COMPRESSED) {
            give_up("a tic's commands are about to be sent compressed, so no peer can tell the tic",
                    bytes[0], (ssize_t)size);
        }
        own_tics = end_of(bytes, (ssize_t)size);
        just_sent = running = 1;
        if (!peer_at(address) && peer_count < MOST_PEERS) {
            peers[peer_count++] = (struct peer){.address = *address};
        }
    }
    return real_sendto(fd, buffer, size, flags, to, length);
}

/* Whether the engine may have a packet now. Notes what the engine then learns of the peer. */
static int is_due(const struct packet *packet) {
    struct peer *peer = peer_at(&packet->from);
    uint8_t flags = packet->bytes[0];
    if (!peer || packet->size < 2) {
        return 1;
    }
    if (flags & (SETUP | EXIT)) {
        peer->gone |= !(flags & SETUP);
        return 1;
    }
    if (flags & COMPRESSED) {
        give_up("a tic's commands came compressed, so the tic cannot be told", flags, packet->size);
    }
    if (packet->size > LARGEST_PACKET) {
        give_up("a packet came that is larger than the engine's largest", flags, packet->size);
    }
    uint8_t end = end_of(packet->bytes, packet->size);
    if ((int8_t)(end - own_tics) > 0) {
        return 0;
    }
    peer->tics = end;
    return 1;
}

static ssize_t hand_over(const struct packet *packet, void *buffer, size_t size,
                         struct sockaddr *from, socklen_t *length) {
    size_t copied = (size_t)packet->size < size ? (size_t)packet->size : size;
    memcpy(buffer, packet->bytes, copied);
    if (from && length && *length >= sizeof packet->from) {
        memcpy(from, &packet->from, sizeof packet->from);
        *length = sizeof packet->from;
    }
    return (ssize_t)copied;
}

static int every_peer_is_here(void) {
    for (int i = 0; i < peer_count; i++) {
        if (!peers[i].gone && peers[i].tics != own_tics) {
            return 0;
        }
    }
    return 1;
}

static ssize_t nothing_there(void) {
    errno = EAGAIN;
    return -1;
}

ssize_t recvfrom(int fd, void *buffer, size_t size, int flags, struct sockaddr *from,
                 socklen_t *length) {
    if (!running) {
        return real_recvfrom(fd, buffer, size, flags, from, length);
    }
    /* A guest that asks right after sending compares its clock with the host's. It has to find
    itself in step. */
    if (just_sent) {
        just_sent = 0;
        return nothing_there();
    }
    for (int i = 0; i < held_count; i++) {
        if (is_due(&held[i])) {
            ssize_t copied = hand_over(&held[i], buffer, size, from, length);
            memmove(&held[i], &held[i + 1], sizeof held[0] * (size_t)(--held_count - i));
            return copied;
        }
    }
    for (int waited = 0; !every_peer_is_here() && held_count < MOST_HELD;) {
        struct packet *next = &held[held_count];
        socklen_t room = sizeof next->from;
        next->size = real_recvfrom(fd, next->bytes, sizeof next->bytes, flags | MSG_TRUNC,
                                   (struct sockaddr *)&next->from, &room);
        if (next->size >= 0) {
            if (is_due(next)) {
                return hand_over(next, buffer, size, from, length);
            }
            held_count++;
        } else if (errno != EAGAIN || waited) {
            return -1;
        } else {
            struct pollfd there = {.fd = fd, .events = POLLIN};
            poll(&there, 1, WAIT_MS);
            waited = 1;
        }
    }
    return nothing_there();
}

/* The engine binds every address. All players are on this machine, so this binds its loopback only,
and no other machine can reach them. */
int bind(int fd, const struct sockaddr *address, socklen_t length) {
    struct sockaddr_in own;
    if (address->sa_family != AF_INET || length < sizeof own) {
        return real_bind(fd, address, length);
    }
    memcpy(&own, address, sizeof own);
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return real_bind(fd, (const struct sockaddr *)&own, sizeof own);
}

/* Shorter naps while players meet. Each player writes to every other one after each nap, so with
even shorter ones eight players would have more to read than they can. */
int usleep(useconds_t us) {
    return real_usleep(us == ENGINE_NAP_US ? NAP_US : us);
}

/* Refuses to compress: the engine then sends the packet as it is, and any packet fits a datagram of
this machine. While players meet the engine crashes where a large one is refused. */
int compress2(void *to, unsigned long *to_size, const void *from, unsigned long size, int level) {
    return running || size < WORTH_COMPRESSING ? Z_BUF_ERROR
                                               : real_compress2(to, to_size, from, size, level);
}
#endif
