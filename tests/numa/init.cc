// PID 1 of a NUMA lab guest: makes the few file systems that programs expect, runs the programs of
// the plan one after the other, says on the control port how each ended, and ends the machine.
//
// One static program in place of a shell with its tools: it is all that the guest holds besides the
// programs under test, it sees every exit status as the kernel gives it, and it can write a
// program's last byte to the serial port before it says that the program has ended.
//
// Serial ports: ttyS0 the kernel's console, ttyS1 stdout, ttyS2 stderr, ttyS3 control. Control, a
// line each:
//   boot <seconds since power on>
//   start <program number>
//   alive               every five seconds while a program runs: a machine that says nothing has
//   stopped file <program number> <bytes> <name>     followed by the bytes: what it left in /out
//   end <program number> <exit code> <seconds>  128 + signal where a signal ended it
//   done
//
// The plan (/plan) is a list of NUL-terminated strings, the first character saying what it is:
//   H<NumaNode> <pages>   reserve huge pages of 2 MiB
//   W<seconds>            so long after power on, say what all threads do, on stderr
//   E<NAME=VALUE>         environment of the programs that follow, until R
//   A<argument>           of the next program; the first is its path
//   R                     run it
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <initializer_list>

namespace {

constexpr int kArgumentsMax = 256;
constexpr int kVariablesMax = 256;
constexpr unsigned short kExitPort = 0xf4;  // qemu's isa-debug-exit, see machine.py

char* g_variables[kVariablesMax + 1] = {};
int g_variable_count = 0;
int g_stdout = -1, g_stderr = -1, g_control = -1;
double g_watch_s = 0;  // 0: threads are not told, or have been

// The kernel's console: the harness shows it when the guest did not reach its end.
void Complain(const char* what) { fprintf(stderr, "init: %s: %s\n", what, strerror(errno)); }

void Mount(const char* type, const char* where) {
  mkdir(where, 0755);
  if (mount(type, where, type, 0, nullptr) != 0) Complain(where);
}

// Bytes pass as they are, and no carrier is waited for.
int OpenSerial(const char* path) {
  const int port = open(path, O_WRONLY | O_NOCTTY | O_NONBLOCK);
  if (port < 0) {
    Complain(path);
    return port;
  }
  termios settings;
  tcgetattr(port, &settings);
  cfmakeraw(&settings);
  settings.c_cflag |= CLOCAL;
  cfsetspeed(&settings, B115200);
  tcsetattr(port, TCSANOW, &settings);
  fcntl(port, F_SETFL, 0);  // blocking from here on
  return port;
}

bool WriteAll(int file, const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t written = write(file, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

__attribute__((format(printf, 1, 2))) void Tell(const char* format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  const int size = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  WriteAll(g_control, line, static_cast<size_t>(size));
}

double Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// 127.0.0.1 comes by itself with the interface.
void LoopbackUp() {
  const int socket_file = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request = {};
  strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  if (ioctl(socket_file, SIOCSIFFLAGS, &request) != 0) Complain("lo");
  close(socket_file);
}

// `order`: "<NumaNode> <pages>". A NumaNode that cannot give them all has said so in its memory
// figures; a program that needs them looks there.
void ReserveHugePages(const char* order) {
  char path[128];
  snprintf(path, sizeof path,
           "/sys/devices/system/node/node%d/hugepages/hugepages-2048kB/nr_hugepages", atoi(order));
  const char* pages = strchr(order, ' ');
  FILE* file = fopen(path, "w");
  if (file == nullptr || pages == nullptr || fputs(pages + 1, file) < 0) Complain(path);
  if (file != nullptr) fclose(file);
}

// Where a thread waits in the kernel, its call, and its stack and program pointers there.
void TellThread(const char* process, const char* thread) {
  char path[128], text[3][256] = {};
  int i = 0;
  for (const char* file : {"comm", "wchan", "syscall"}) {
    snprintf(path, sizeof path, "/proc/%.20s/task/%.20s/%s", process, thread, file);
    const int opened = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = opened < 0 ? -1 : read(opened, text[i], sizeof text[i] - 1);
    if (got > 0 && text[i][got - 1] == '\n') text[i][got - 1] = 0;
    if (opened >= 0) close(opened);
    ++i;
  }
  dprintf(g_stderr, "init: process %s thread %s %s: %s, call %s\n", process, thread, text[0],
          text[1], text[2]);
}

// All processes but the kernel's own, which have no file that they run.
void TellThreads() {
  DIR* processes = opendir("/proc");
  if (processes == nullptr) return;
  while (const dirent* process = readdir(processes)) {
    char path[64], file[256] = {};
    snprintf(path, sizeof path, "/proc/%.20s/exe", process->d_name);
    if (atoi(process->d_name) <= 1 || readlink(path, file, sizeof file - 1) <= 0) continue;
    dprintf(g_stderr, "init: process %s is %s\n", process->d_name, file);
    snprintf(path, sizeof path, "/proc/%.20s/task", process->d_name);
    DIR* threads = opendir(path);
    if (threads == nullptr) continue;
    while (const dirent* thread = readdir(threads)) {
      if (atoi(thread->d_name) > 0) TellThread(process->d_name, thread->d_name);
    }
    closedir(threads);
  }
  closedir(processes);
}

double SinceBoot() {
  timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

void EverySeconds(time_t seconds) {
  const itimerval timer = {{seconds, 0}, {seconds, 0}};
  setitimer(ITIMER_REAL, &timer, nullptr);
}

int Run(char** arguments) {
  fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) {
    Complain("fork");
    return 126;
  }
  if (child == 0) {
    setsid();
    dup2(open("/dev/null", O_RDONLY), 0);
    dup2(g_stdout, 1);
    dup2(g_stderr, 2);
    if (chdir("/tmp") != 0) Complain("/tmp");
    execve(arguments[0], arguments, g_variables);
    Complain(arguments[0]);
    _exit(errno == ENOENT ? 127 : 126);
  }
  EverySeconds(5);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    Tell("alive\n");
    if (g_watch_s > 0 && SinceBoot() > g_watch_s) TellThreads(), g_watch_s = 0;
  }
  EverySeconds(0);
  // Nothing that it started stays for the next program.
  kill(-1, SIGKILL);
  while (waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// What the program left in /out, then an empty /out for the next one.
void SendFiles(int program) {
  DIR* folder = opendir("/out");
  if (folder == nullptr) return;
  while (const dirent* entry = readdir(folder)) {
    char path[300];
    snprintf(path, sizeof path, "/out/%s", entry->d_name);
    struct stat about;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode)) continue;
    const int file = open(path, O_RDONLY);
    long long left = about.st_size;
    Tell("file %d %lld %s\n", program, left, entry->d_name);
    static char block[1 << 16];
    while (left > 0) {
      const size_t want =
          left < static_cast<long long>(sizeof block) ? static_cast<size_t>(left) : sizeof block;
      const ssize_t got = read(file, block, want);
      if (got <= 0) break;  // cannot be: the programs have ended
      WriteAll(g_control, block, static_cast<size_t>(got));
      left -= got;
    }
    close(file);
    unlink(path);
  }
  closedir(folder);
}

void RunPlan(char* plan, size_t bytes) {
  char* arguments[kArgumentsMax + 1];
  int argument_count = 0, program = 0;
  for (char* at = plan; at < plan + bytes; at += strlen(at) + 1) {
    if (at[0] == 'H') ReserveHugePages(at + 1);
    if (at[0] == 'W') g_watch_s = atof(at + 1);
    if (at[0] == 'E' && g_variable_count < kVariablesMax) g_variables[g_variable_count++] = at + 1;
    if (at[0] == 'A' && argument_count < kArgumentsMax) arguments[argument_count++] = at + 1;
    if (at[0] != 'R') continue;
    arguments[argument_count] = nullptr;
    g_variables[g_variable_count] = nullptr;
    const double started = Now();
    Tell("start %d\n", program);
    const int code = Run(arguments);
    tcdrain(g_stdout);
    tcdrain(g_stderr);
    SendFiles(program);
    Tell("end %d %d %.2f\n", program, code, Now() - started);
    ++program;
    argument_count = g_variable_count = 0;
  }
  Tell("done\n");
  tcdrain(g_control);
}

[[noreturn]] void EndMachine() {
  if (ioperm(kExitPort, 4, 1) == 0) outl(0, kExitPort);
  reboot(RB_AUTOBOOT);  // qemu runs with -no-reboot
  for (;;) pause();
}

}  // namespace

int main() {
  struct sigaction on_alarm = {};
  on_alarm.sa_handler = [](int) {};  // ends a wait, and is the default again in programs
  sigaction(SIGALRM, &on_alarm, nullptr);
  Mount("proc", "/proc");
  Mount("sysfs", "/sys");
  Mount("devtmpfs", "/dev");
  Mount("tmpfs", "/dev/shm");
  for (const char* folder : {"/tmp", "/out"}) mkdir(folder, 01777);
  g_stdout = OpenSerial("/dev/ttyS1");
  g_stderr = OpenSerial("/dev/ttyS2");
  g_control = OpenSerial("/dev/ttyS3");
  for (const int port : {g_stdout, g_stderr, g_control}) {
    if (port < 0) EndMachine();
    fcntl(port, F_SETFD, FD_CLOEXEC);
  }
  LoopbackUp();
  Tell("boot %.2f\n", SinceBoot());

  const int file = open("/plan", O_RDONLY | O_CLOEXEC);
  struct stat about;
  if (file < 0 || fstat(file, &about) != 0) {
    Complain("/plan");
    EndMachine();
  }
  const size_t bytes = static_cast<size_t>(about.st_size);
  char* plan = static_cast<char*>(calloc(bytes + 1, 1));
  if (plan == nullptr || read(file, plan, bytes) != static_cast<ssize_t>(bytes)) {
    Complain("/plan");
    EndMachine();
  }
  close(file);
  RunPlan(plan, bytes);
  EndMachine();
}
