"""A network in between: what comes to two ports of one address goes on to the same ports of another, at the will of a test."""
import asyncio
import socket
import threading

HELD_BYTES = 4096  # By each of the relay's buffers: a cut loses what they hold.


class Relay:
    """In a with block. Its loop runs on a thread of its own; all of this may be called from any thread."""

    def __init__(self, from_host: str, to_host: str, first_port: int):
        self.delay_s = 0.0  # Each way, of what is read from now on.
        self._from_host = from_host
        self._to_host = to_host
        self._ports = range(first_port, first_port + 2)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._servers: list[asyncio.Server] = []
        self._writers: set[asyncio.StreamWriter] = set()

    def __enter__(self):
        self._thread.start()
        self.heal()
        return self

    def __exit__(self, *_):
        self.cut()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def stall(self):
        """Connections stay, and carry nothing."""
        self._loop.call_soon_threadsafe(self._flowing.clear)

    def flow(self):
        self._loop.call_soon_threadsafe(self._flowing.set)

    def cut(self):
        """Breaks every connection and takes no new one."""
        asyncio.run_coroutine_threadsafe(self._cut(), self._loop).result()

    def heal(self):
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()

    async def _listen(self):
        for port in self._ports:
            async def accept(reader, writer, port=port):
                await self._accept(reader, writer, port)
            listening = socket.create_server((self._from_host, port))
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, HELD_BYTES)
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, HELD_BYTES)
            self._servers.append(await asyncio.start_server(accept, sock=listening, limit=HELD_BYTES))

    async def _cut(self):
        for server in self._servers:
            server.close()
        self._servers.clear()
        for writer in list(self._writers):
            writer.transport.abort()

    async def _accept(self, reader, writer, port: int):
        try:
            far_reader, far_writer = await asyncio.open_connection(self._to_host, port, limit=HELD_BYTES)
        except OSError:
            writer.transport.abort()
            return
        for held in (writer, far_writer):
            held.transport.set_write_buffer_limits(HELD_BYTES)
        self._writers |= {writer, far_writer}
        await asyncio.gather(self._pump(reader, far_writer), self._pump(far_reader, writer))
        self._writers -= {writer, far_writer}

    async def _pump(self, reader, writer):
        """Each chunk leaves `delay_s` after it came; those behind it need not wait for more than that."""
        waiting: asyncio.Queue = asyncio.Queue(4)

        async def read():
            try:
                while data := await reader.read(HELD_BYTES):
                    await waiting.put((self._loop.time() + self.delay_s, data))
            except OSError:
                pass
            await waiting.put((0, b""))

        reading = asyncio.ensure_future(read())
        try:
            while True:
                due, data = await waiting.get()
                if not data:
                    break
                await asyncio.sleep(max(0, due - self._loop.time()))
                await self._flowing.wait()
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            reading.cancel()
            writer.transport.abort()
