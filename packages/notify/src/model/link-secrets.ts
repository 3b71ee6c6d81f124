import { Secret } from '@gatehouse/kit'

/** The secrets behind the signed links of messages and the tokens of receipts. They may change while a process runs. */
export interface LinkSecrets {
  /** Signs what is made now. */
  signing(): Secret
  /** Those whose signatures are valid, in any order. */
  valid(): readonly Secret[]
}

/** One secret that is never replaced, or the secrets as they are. */
export function linkSecretsOf(secret: Secret | LinkSecrets): LinkSecrets {
  if (!(secret instanceof Secret)) return secret
  return { signing: () => secret, valid: () => [secret] }
}

/** A secret, and from when on it signs (Unix milliseconds). */
export interface DatedSecret {
  readonly secret: Secret
  readonly signsFrom: number
}

/** The last one that signs by `now` (Unix milliseconds) of secrets with the newest first. There is at least one. */
export function signingSecret(secrets: readonly DatedSecret[], now: number): Secret {
  const found = secrets.find(({ signsFrom }) => signsFrom <= now) ?? secrets.at(-1)
  if (!found) throw new RangeError('there is no secret to sign links with')
  return found.secret
}

/** The text of secrets, to be sealed: a line for each, its time unless that is 0, and the secret. */
export function formatLinkSecrets(secrets: readonly DatedSecret[]): string {
  const lineOf = ({ secret, signsFrom }: DatedSecret) => `${signsFrom === 0 ? '' : `${signsFrom} `}${secret.reveal()}`
  return secrets.map(lineOf).join('\n')
}

/** Reads what {@link formatLinkSecrets} wrote; a secret without a time has always signed. */
export function parseLinkSecrets(text: string): DatedSecret[] {
  return text.split('\n').map((line) => {
    const [secret = '', signsFrom = '0'] = line.split(' ').reverse()
    return { secret: new Secret(secret), signsFrom: Number(signsFrom) }
  })
}
