/* gdk-pixbuf beside the rows of bench-images, which asks line by line and interleaves its rounds with its own:
 *
 *     full PATH              decodes a file
 *     size W H PATH          decodes it to fit within a size
 *     header PIXELS PATH     decodes it unless its header tells of more pixels, as programs do with gdk-pixbuf
 *
 * Each is answered by the processor time in microseconds and the size of the result, or zeros where there is none. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include <gdk-pixbuf/gdk-pixbuf.h>

static double cpu_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static GdkPixbuf *decode(const char *data, gsize count, int width, int height) {
    GInputStream *stream = g_memory_input_stream_new_from_data(data, (gssize)count, NULL);
    GdkPixbuf *pixbuf = width ? gdk_pixbuf_new_from_stream_at_scale(stream, width, height, TRUE, NULL, NULL)
                              : gdk_pixbuf_new_from_stream(stream, NULL, NULL);
    g_object_unref(stream);
    return pixbuf;
}

static void refuse(GdkPixbufLoader *loader, int width, int height, gpointer most) {
    if ((gint64)width * height > *(gint64 *)most) gdk_pixbuf_loader_set_size(loader, 0, 0);
}

static GdkPixbuf *decode_checked(const char *data, gsize count, gint64 most) {
    GdkPixbufLoader *loader = gdk_pixbuf_loader_new();
    g_signal_connect(loader, "size-prepared", G_CALLBACK(refuse), &most);
    gboolean isRead = gdk_pixbuf_loader_write(loader, (const guchar *)data, count, NULL);
    isRead = gdk_pixbuf_loader_close(loader, NULL) && isRead;
    GdkPixbuf *pixbuf = isRead ? gdk_pixbuf_loader_get_pixbuf(loader) : NULL;
    if (pixbuf) g_object_ref(pixbuf);
    g_object_unref(loader);
    return pixbuf;
}

int main(void) {
    char line[4096], path[4096];
    /* Hostile files are not to take the machine's memory. */
    setrlimit(RLIMIT_AS, &(struct rlimit){4UL << 30, 4UL << 30});
    while (fgets(line, sizeof line, stdin)) {
        int width = 0, height = 0;
        long long most = 0;
        char *data;
        gsize count;
        bool isChecked = sscanf(line, "header %lld %4095s", &most, path) == 2;
        if (!isChecked && sscanf(line, "size %d %d %4095s", &width, &height, path) != 3 && sscanf(line, "full %4095s", path) != 1) return 1;
        if (!g_file_get_contents(path, &data, &count, NULL)) return 1;
        double start = cpu_us();
        GdkPixbuf *pixbuf = isChecked ? decode_checked(data, count, most) : decode(data, count, width, height);
        double end = cpu_us();
        printf("%.1f %d %d\n", end - start, pixbuf ? gdk_pixbuf_get_width(pixbuf) : 0, pixbuf ? gdk_pixbuf_get_height(pixbuf) : 0);
        fflush(stdout);
        if (pixbuf) g_object_unref(pixbuf);
        g_free(data);
    }
    return 0;
}
