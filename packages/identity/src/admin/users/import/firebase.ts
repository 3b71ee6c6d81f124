import { formatFirebaseHash } from '../../../passwords/formats/scrypt.ts'
import type { SourceFormat } from './source.ts'

interface FirebaseUser {
  readonly localId: string
  readonly email?: string
  readonly emailVerified?: boolean
  readonly displayName?: string
  readonly photoUrl?: string
  readonly phoneNumber?: string
  readonly passwordHash?: string
  readonly salt?: string
}

/** Firebase: the users of `firebase auth:export users.json`. */
export const firebase: SourceFormat = {
  recognizes: (record) => 'localId' in record,
  convert(record, { firebase: parameters }) {
    const user = record as unknown as FirebaseUser
    const { passwordHash, salt } = user
    const hasPassword = passwordHash !== undefined && salt !== undefined
    if (hasPassword && parameters === undefined)
      throw new RangeError(
        'the hash parameters of the Firebase project are required: its signer key and salt separator',
      )
    return {
      id: user.localId,
      ...(user.email === undefined ? {} : { email: user.email }),
      email_verified: user.emailVerified ?? false,
      ...(hasPassword && parameters ? { password_hash: formatFirebaseHash(passwordHash, salt, parameters) } : {}),
      claims: {
        ...(user.displayName === undefined ? {} : { name: user.displayName }),
        ...(user.photoUrl === undefined ? {} : { picture: user.photoUrl }),
        ...(user.phoneNumber === undefined ? {} : { phone_number: user.phoneNumber }),
      },
    }
  },
}
