import { type Http, StartError } from '@gatehouse/kit'

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is taken by another process',
  EACCES: 'needs more rights than this process has',
  EADDRNOTAVAIL: 'is not an address of this machine',
  ENOTFOUND: 'is not an address of this machine',
}

/** Listens. Throws {@link StartError} when the port is taken or the address is not ours. */
export async function listen(http: Http, host: string, port: number): Promise<void> {
  try {
    await http.listen({ host, port })
  } catch (error) {
    const reason = reasons[(error as { code?: string }).code ?? '']
    if (reason === undefined) throw error
    throw new StartError(`${host}:${port} ${reason} (HOST, PORT).`, { cause: error })
  }
}
