/* Loaded into the Doom engines of a network game (pbt/envs/doom/launcher.py): lock-step without a busy wait.

In ViZDoom's synchronous mode tic t runs when the commands of all players for tic t are there. The engine as it is
- spins on recvfrom until they are: with more engines than cores, spinners take the time their peers need;
- lets a guest that sees the host's packet early run two tics for one request, so that players count different tics and wait for each other for
  ever, unless whoever drives them holds a barrier after every tic;
- asks for packets dozens of times while it draws, sleeps 100 ms at a time while players meet, and compresses packets of a few bytes.
Here a packet is handed over only when its tic is due, the process sleeps until there is one, and nobody asks the kernel for what is known. Nor does
anybody hear what comes from another machine.

A packet of a running game: byte 0 flags and the number of tics it carries, byte 1 the low byte of the first of them, then one byte if it asks for
a repetition and one if it carries more than two tics. Its tics can be read only where it is not compressed, so in a running game none is. */
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
/* LARGEST_PACKET: MAX_MSGLEN of the engine's d_net.h, which it takes and sends as one datagram. */
enum { MOST_PEERS = 16, MOST_HELD = 64, LARGEST_PACKET = 14000 };
enum { WAIT_MS = 20, ENGINE_NAP_US = 100000, NAP_US = 5000, WORTH_COMPRESSING = 256, Z_BUF_ERROR = -5 };

struct peer {
    struct sockaddr_in address;
    uint8_t tics; /* low byte of the number of tics we have handed over */
    int gone;
};

struct packet {
    struct sockaddr_in from;
    ssize_t size;
    uint8_t bytes[LARGEST_PACKET];
};

static struct peer peers[MOST_PEERS];
static int peer_count;
static struct packet held[MOST_HELD]; /* of tics we have not come to, in order of arrival */
static int held_count;
static uint8_t own_tics; /* low byte of the number of tics we have sent commands for */
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

/* End the engine. Its last words are told to the table, which starts another match. */
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
        if (peers[i].address.sin_addr.s_addr == address->sin_addr.s_addr && peers[i].address.sin_port == address->sin_port) {
            return &peers[i];
        }
    }
    return NULL;
}

ssize_t sendto(int fd, const void *buffer, size_t size, int flags, const struct sockaddr *to, socklen_t length) {
    const uint8_t *bytes = buffer;
    const struct sockaddr_in *address = (const struct sockaddr_in *)to;
    if (size >= 2 && !(bytes[0] & (EXIT | SETUP))) {
        if (bytes[0] & COMPRESSED) {
            give_up("a tic's commands are about to be sent compressed, and nobody could tell which tic's", bytes[0], (ssize_t)size);
        }
        own_tics = end_of(bytes, (ssize_t)size);
        just_sent = running = 1;
        if (!peer_at(address) && peer_count < MOST_PEERS) {
            peers[peer_count++] = (struct peer){.address = *address};
        }
    }
    return real_sendto(fd, buffer, size, flags, to, length);
}

/* Whether the engine may have a packet now. What it then learns of a peer is noted. */
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
        give_up("a tic's commands came compressed, and nobody can tell which tic's", flags, packet->size);
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

static ssize_t hand_over(const struct packet *packet, void *buffer, size_t size, struct sockaddr *from, socklen_t *length) {
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

ssize_t recvfrom(int fd, void *buffer, size_t size, int flags, struct sockaddr *from, socklen_t *length) {
    if (!running) {
        return real_recvfrom(fd, buffer, size, flags, from, length);
    }
    if (just_sent) { /* a guest that asks right after sending compares its clock with the host's: it is to find itself in step */
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
        next->size = real_recvfrom(fd, next->bytes, sizeof next->bytes, flags | MSG_TRUNC, (struct sockaddr *)&next->from, &room);
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

/* On every address, says the engine. All players are on this machine, and nobody else is to speak to them. */
int bind(int fd, const struct sockaddr *address, socklen_t length) {
    struct sockaddr_in own;
    if (address->sa_family != AF_INET || length < sizeof own) {
        return real_bind(fd, address, length);
    }
    memcpy(&own, address, sizeof own);
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return real_bind(fd, (const struct sockaddr *)&own, sizeof own);
}

/* While players meet. Each then writes to every other after each nap: of shorter ones eight players have more to read than they can. */
int usleep(useconds_t us) {
    return real_usleep(us == ENGINE_NAP_US ? NAP_US : us);
}

/* Refused, the engine sends the packet as it is: any fits a datagram of this machine. While players meet it crashes where a large one is refused. */
int compress2(void *to, unsigned long *to_size, const void *from, unsigned long size, int level) {
    return running || size < WORTH_COMPRESSING ? Z_BUF_ERROR : real_compress2(to, to_size, from, size, level);
}
#endif
