/** What is asked of an `ioredis` client. */
export interface IoredisClient {
  evalsha(sha1: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>
  eval(script: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>
}

/** What is asked of a `redis` (node-redis) client. */
export interface NodeRedisClient {
  evalSha(sha1: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
}

/** A connected client of either library: single server, Sentinel or Cluster. */
export type RedisClient = IoredisClient | NodeRedisClient

/** Runs a script the server has already seen, by its SHA-1. Rejects with NOSCRIPT when it hasn't. */
export function evalSha(client: RedisClient, sha1: string, keys: string[], args: string[]): Promise<unknown> {
  return 'evalSha' in client
    ? client.evalSha(sha1, { keys, arguments: args })
    : client.evalsha(sha1, keys.length, ...keys, ...args)
}

/** Runs a script by its text, which the server remembers. */
export function evalText(client: RedisClient, script: string, keys: string[], args: string[]): Promise<unknown> {
  return 'evalSha' in client
    ? client.eval(script, { keys, arguments: args })
    : client.eval(script, keys.length, ...keys, ...args)
}
