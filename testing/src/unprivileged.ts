import { execFileSync } from 'node:child_process'

export interface Owner {
  readonly uid: number
  readonly gid: number
}

/**
 * Servers refuse to run as root, or should not: the first of these users that there is, when this process is root.
 * Debian's packages bring users of their own, and `nobody` is everywhere.
 */
export function unprivileged(users: readonly string[]): Owner | undefined {
  if (process.getuid?.() !== 0) return undefined
  const known = owners.get(users.join()) ?? findOwner(users)
  owners.set(users.join(), known)
  return known
}

/** By the users that were looked for: to ask the system starts two programs. */
const owners = new Map<string, Owner>()

function findOwner(users: readonly string[]): Owner {
  for (const user of users) {
    try {
      const id = (flag: string) =>
        Number(execFileSync('id', [flag, user], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }))
      return { uid: id('-u'), gid: id('-g') }
    } catch {
      // the next one
    }
  }
  throw new Error(`an unprivileged user is needed, and none of ${users.join(', ')} is here`)
}
