import { findProgram } from '@gatehouse/testing'
import { type BrowserContextOptions, type CDPSession, chromium, type Page } from 'playwright-core'

/** A credential of Chromium's virtual authenticator (Chrome DevTools Protocol, domain WebAuthn). */
export interface VirtualCredential {
  readonly credentialId: string
  readonly signCount: number
  readonly [member: string]: unknown
}

/** Wrong answers that the authenticator can give. */
export interface ResponseOverrides {
  readonly isBogusSignature?: boolean
  readonly isBadUV?: boolean
  readonly isBadUP?: boolean
}

/** A page in Chromium whose device has a virtual authenticator: the browser's own rules for passkeys apply. */
export class PasskeyDevice implements AsyncDisposable {
  readonly page: Page
  /** What the browser complained about: violations of the page's policy, errors of its script. */
  readonly complaints: string[] = []
  readonly #session: CDPSession
  readonly #authenticatorId: string

  private constructor(page: Page, session: CDPSession, authenticatorId: string) {
    this.page = page
    this.#session = session
    this.#authenticatorId = authenticatorId
    page.on('pageerror', (error) => this.complaints.push(String(error)))
    page.on('console', (message) => {
      if (message.type() === 'error' && !message.text().includes('status of 401')) this.complaints.push(message.text())
    })
  }

  static async start(options: BrowserContextOptions = {}): Promise<PasskeyDevice> {
    const browser = await chromium.launch({ executablePath: findProgram('chromium') ?? '', args: ['--no-sandbox'] })
    const page = await (await browser.newContext(options)).newPage()
    const session = await page.context().newCDPSession(page)
    await session.send('WebAuthn.enable', { enableUI: false })
    const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        ctap2Version: 'ctap2_1',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
        defaultBackupEligibility: false,
        defaultBackupState: false,
      },
    })
    return new PasskeyDevice(page, session, authenticatorId)
  }

  async credentials(): Promise<VirtualCredential[]> {
    const { credentials } = await this.#session.send('WebAuthn.getCredentials', this.#authenticator())
    return credentials as unknown as VirtualCredential[]
  }

  async replace(credential: VirtualCredential): Promise<void> {
    const { credentialId } = credential
    await this.#session.send('WebAuthn.removeCredential', { ...this.#authenticator(), credentialId })
    await this.add(credential)
  }

  async add(credential: VirtualCredential): Promise<void> {
    await this.#session.send('WebAuthn.addCredential', { ...this.#authenticator(), credential: credential as never })
  }

  /** Whether the person before the device can prove who they are: if not, the browser reports that they cancelled. */
  async setUserVerified(isUserVerified: boolean): Promise<void> {
    await this.#session.send('WebAuthn.setUserVerified', { ...this.#authenticator(), isUserVerified })
  }

  async override(overrides: ResponseOverrides): Promise<void> {
    await this.#session.send('WebAuthn.setResponseOverrideBits', { ...this.#authenticator(), ...overrides })
  }

  /** Turns autofill off for the following pages: a virtual authenticator would select a passkey at once. */
  async withoutAutofill(): Promise<void> {
    const off = 'PublicKeyCredential.isConditionalMediationAvailable = async () => false'
    await this.page.addInitScript(`if (globalThis.PublicKeyCredential) ${off}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.page.context().browser()?.close()
  }

  #authenticator(): { authenticatorId: string } {
    return { authenticatorId: this.#authenticatorId }
  }
}
