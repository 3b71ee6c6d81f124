import type { Credentials } from '../call/credentials.ts'

/**
 * An API key, sent as `X-API-Key`.
 *
 * @example
 * ```ts
 * const gatehouse = createGatehouse({ baseUrl, credentials: apiKey(process.env.GATEHOUSE_API_KEY) })
 * ```
 */
export function apiKey(key: string): Credentials {
  return { headers: async () => ({ 'x-api-key': key }) }
}
