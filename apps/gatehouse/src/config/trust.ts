import { createHash } from 'node:crypto'
import { isLoopback } from './loopback.ts'
import type { File } from './schema/file.ts'
import type { Settings } from './settings.ts'

/**
 * Whose tokens a process takes: of the identity beside it, of one of ours elsewhere, of another issuer (ISSUER), or
 * nobody's, so that API keys of the file alone open it.
 */
export type Trust = 'own' | 'sibling' | 'issuer' | 'keys'

/** Whose tokens this process accepts. */
export function trustOf({ services, issuer, identityElsewhere }: Settings): Trust {
  if (services.has('identity')) return 'own'
  if (issuer) return 'issuer'
  return identityElsewhere ? 'sibling' : 'keys'
}

/** Whether nobody but this machine can reach the process, and what it keeps is of no worth to others. */
export function isDevelopment(settings: Settings, file: File): boolean {
  if (settings.databaseUrl || settings.processes > 1) return false
  if (settings.devPages === 'never' || file.dev_pages === false) return false
  return [settings.host, new URL(settings.baseUrl).hostname, new URL(settings.authUrl).hostname].every(isLoopback)
}

/** SHA-256 of an API key as the file declares it: `sha256:` and hexadecimal digits. */
export function fileKeyHash(key: string): string {
  return `sha256:${createHash('sha256').update(key).digest('hex')}`
}
