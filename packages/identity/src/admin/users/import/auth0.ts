import type { ImportedUser } from '../../../config/declarations.ts'
import { namesOf, type SourceFormat } from './source.ts'

interface Auth0User {
  readonly user_id?: string
  readonly _id?: { readonly $oid?: string }
  readonly username?: string
  readonly email?: string
  readonly email_verified?: boolean
  readonly password_hash?: string
  readonly passwordHash?: string
  readonly custom_password_hash?: { readonly algorithm?: string; readonly hash?: { readonly value?: string } }
}

/** Auth0: the file of its bulk import, or the lines that its support exports with the hashes. */
export const auth0: SourceFormat = {
  recognizes: (record) => 'user_id' in record || '_id' in record || 'custom_password_hash' in record,
  convert(record) {
    const user = record as Auth0User
    const id = user.user_id ?? user._id?.$oid ?? user.email ?? ''
    const hash = user.password_hash ?? user.passwordHash ?? user.custom_password_hash?.hash?.value
    return {
      // Auth0 writes `auth0|5f7c…`; a bar is no character of our ids.
      id: id.replaceAll('|', ':'),
      ...(user.username === undefined ? {} : { username: user.username }),
      ...(user.email === undefined ? {} : { email: user.email }),
      email_verified: user.email_verified ?? false,
      ...(hash === undefined ? {} : { password_hash: hash }),
      claims: namesOf(record),
    } satisfies ImportedUser
  },
}
