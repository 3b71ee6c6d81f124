import { createServer } from 'node:net'
import { type Http, StartError } from '@gatehouse/kit'

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is taken by another process',
  EACCES: 'needs more rights than this process has',
  EADDRNOTAVAIL: 'is not an address of this machine',
  ENOTFOUND: 'is not an address of this machine',
}

/**
 * Whether the port can be had, asked before anything is opened: what the first run makes is shown once, and should not be
 * made by a start that fails. Throws {@link StartError} when it can't.
 */
export async function probePort(host: string, port: number, settings = 'HOST, PORT'): Promise<void> {
  const probe = createServer()
  try {
    await new Promise<void>((resolve, reject) => probe.once('error', reject).listen({ host, port }, resolve))
  } catch (error) {
    throw asStartError(error, host, port, settings)
  } finally {
    if (probe.listening) await new Promise((resolve) => probe.close(resolve))
  }
}

/** Listens. Throws {@link StartError} when the port is taken or the address is not ours. */
export async function listen(http: Http, host: string, port: number, settings = 'HOST, PORT'): Promise<void> {
  try {
    await http.listen({ host, port })
  } catch (error) {
    throw asStartError(error, host, port, settings)
  }
}

function asStartError(error: unknown, host: string, port: number, settings: string): unknown {
  const reason = reasons[(error as { code?: string }).code ?? '']
  return reason === undefined ? error : new StartError(`${host}:${port} ${reason} (${settings}).`, { cause: error })
}
