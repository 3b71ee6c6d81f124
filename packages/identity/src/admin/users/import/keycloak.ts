import { encodeBase64 } from '../../../passwords/formats/format.ts'
import type { SourceFormat } from './source.ts'

interface KeycloakCredential {
  readonly type?: string
  /** JSON: `{"value":"<base64>","salt":"<base64>"}`. */
  readonly secretData?: string
  /** JSON: `{"algorithm":"argon2","hashIterations":5,"additionalParameters":{"memory":["7168"], …}}`. */
  readonly credentialData?: string
}

interface KeycloakUser {
  readonly id?: string
  readonly username?: string
  readonly email?: string
  readonly emailVerified?: boolean
  readonly firstName?: string
  readonly lastName?: string
  readonly credentials?: readonly KeycloakCredential[]
}

/** Keycloak: the users of a realm that `kc.sh export` wrote. */
export const keycloak: SourceFormat = {
  recognizes: (record) => 'credentials' in record || ('username' in record && 'createdTimestamp' in record),
  convert(record) {
    const user = record as KeycloakUser
    const password = user.credentials?.find(({ type }) => type === 'password')
    const name = [user.firstName, user.lastName].filter(Boolean).join(' ')
    return {
      id: user.id ?? user.username ?? '',
      ...(user.username === undefined ? {} : { username: user.username }),
      ...(user.email === undefined ? {} : { email: user.email }),
      email_verified: user.emailVerified ?? false,
      ...(password === undefined ? {} : { password_hash: hashOf(password) }),
      claims: {
        ...(name === '' ? {} : { name }),
        ...(user.firstName === undefined ? {} : { given_name: user.firstName }),
        ...(user.lastName === undefined ? {} : { family_name: user.lastName }),
      },
    }
  },
}

interface CredentialData {
  readonly algorithm?: string
  readonly hashIterations?: number
  readonly additionalParameters?: Readonly<Record<string, readonly string[]>>
}

const pbkdf2Names: Readonly<Record<string, string>> = {
  pbkdf2: 'pbkdf2-sha1',
  'pbkdf2-sha256': 'pbkdf2-sha256',
  'pbkdf2-sha512': 'pbkdf2-sha512',
}

/** The credential as a PHC string. @throws RangeError when it is of an unknown algorithm or not readable */
function hashOf({ secretData, credentialData }: KeycloakCredential): string {
  const { value = '', salt = '' } = read<{ value?: string; salt?: string }>('secretData', secretData)
  const {
    algorithm = '',
    hashIterations = 1,
    additionalParameters = {},
  } = read<CredentialData>('credentialData', credentialData)
  const tail = `${encodeBase64(Buffer.from(salt, 'base64'))}$${encodeBase64(Buffer.from(value, 'base64'))}`
  if (algorithm === 'argon2') {
    const { type = ['id'], memory = ['7168'], parallelism = ['1'] } = additionalParameters
    return `$argon2${type[0]}$v=19$m=${memory[0]},t=${hashIterations},p=${parallelism[0]}$${tail}`
  }
  const name = pbkdf2Names[algorithm]
  if (name === undefined)
    throw new RangeError(`passwords of the algorithm ${JSON.stringify(algorithm)} cannot be imported`)
  return `$${name}$i=${hashIterations}$${tail}`
}

function read<Data>(member: string, text: string | undefined): Data {
  try {
    return JSON.parse(text ?? '') as Data
  } catch {
    throw new RangeError(`${member} of the credential must be JSON`)
  }
}
