/** A passkey: a discoverable WebAuthn credential of a user. Times are Unix milliseconds. */
export interface Passkey {
  /** Public: names the passkey in pages, the audit trail and management. */
  readonly id: string
  /** The credential's own identifier (base64url), unique among all users. */
  readonly credentialId: string
  readonly userId: string
  /** The COSE key (base64url). */
  readonly publicKey: string
  /** The highest signature counter seen. Synced passkeys report 0. */
  readonly signCount: number
  /** Whether it can be copied to the user's other devices (flag BE). Never changes. */
  readonly backupEligible: boolean
  /** Whether it was copied, when it was last used (flag BS). */
  readonly backedUp: boolean
  readonly transports: readonly PasskeyTransport[]
  /** The model of the authenticator: a claim of the device, not proven. */
  readonly aaguid: string
  readonly name: string
  readonly createdAt: number
  readonly lastUsedAt: number | undefined
  readonly lastUserAgent: string | undefined
  /** When a response with a counter that was seen before was rejected. */
  readonly counterRegressedAt: number | undefined
}

/** How many passkeys a user may have. */
export const maxPasskeys = 20

/** The length of a passkey's name. */
export const maxPasskeyNameLength = 60

/** The transports of WebAuthn Level 3 §5.8.4. */
export const passkeyTransports = ['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb'] as const

/** How a browser reaches an authenticator. */
export type PasskeyTransport = (typeof passkeyTransports)[number]

/** The known transports among those that a browser sent, each once. */
export function knownTransports(sent: unknown): PasskeyTransport[] {
  return Array.isArray(sent) ? passkeyTransports.filter((transport) => sent.includes(transport)) : []
}

/**
 * Whether a signature counter goes back (WebAuthn Level 3 §6.1.1), as that of a copied key does. Only of a passkey that
 * can't be synced: the copies of a synced one do not share a counter.
 */
export function isCounterRegression(
  { backupEligible, signCount }: Pick<Passkey, 'backupEligible' | 'signCount'>,
  counter: number,
): boolean {
  return !backupEligible && (counter > 0 || signCount > 0) && counter <= signCount
}
