import type { ConsoleOptions } from './options.ts'
import type { Provider } from './provider/provider.ts'
import type { Services } from './proxy/services.ts'
import type { OpenAnswers } from './session/open-answers.ts'
import type { AccessTokens } from './session/tokens.ts'
import type { SignInPlaces } from './sign-in/limits.ts'

/** What the endpoints of the console share. */
export interface ConsoleContext extends ConsoleOptions {
  /** Whether cookies are sent over https only. */
  readonly secure: boolean
  readonly provider: Provider
  readonly services: ConsoleOptions['services']
  readonly connections: Services
  readonly tokens: AccessTokens
  readonly openAnswers: OpenAnswers
  readonly signInPlaces: SignInPlaces
}
