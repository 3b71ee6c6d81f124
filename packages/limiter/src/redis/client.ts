/** The methods of an `ioredis` client that the store calls. */
export interface IoredisClient {
  /** Runs a script by its SHA-1. */
  evalsha(sha1: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>
  /** Runs a script by its text. */
  eval(script: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>
}

/** The methods of a `redis` (node-redis) client that the store calls. */
export interface NodeRedisClient {
  /** Runs a script by its SHA-1. */
  evalSha(sha1: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
  /** Runs a script by its text. */
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
}

/** A connected client of either library: single server, Sentinel or Cluster. */
export type RedisClient = IoredisClient | NodeRedisClient

/** Runs a script that the server knows, by its SHA-1. Rejects with NOSCRIPT when it does not. */
export function evalSha(client: RedisClient, sha1: string, keys: string[], args: string[]): Promise<unknown> {
  return 'evalSha' in client
    ? client.evalSha(sha1, { keys, arguments: args })
    : client.evalsha(sha1, keys.length, ...keys, ...args)
}

/** Runs a script by its text, which the server stores. */
export function evalText(client: RedisClient, script: string, keys: string[], args: string[]): Promise<unknown> {
  return 'evalSha' in client
    ? client.eval(script, { keys, arguments: args })
    : client.eval(script, keys.length, ...keys, ...args)
}
