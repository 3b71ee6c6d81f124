import type { Clock, Log, RecordChange, Registry, Secret } from '@gatehouse/kit'
import type { Branding, SiteLink } from '@gatehouse/kit/page'
import type { Provider } from '@gatehouse/providers'
import type { NotifyDeclarations } from './catalog/apply-declarations.ts'
import type { ReservedDeclarations } from './catalog/reserved.ts'
import type { NotifyOptions } from './config/options.ts'
import type { Channel } from './model/channel.ts'
import type { ProviderSource } from './model/delivery/provider-order.ts'
import type { LinkSecrets } from './model/link-secrets.ts'
import type { Topic } from './model/work/topic.ts'
import type { Authenticate, WatchCredential } from './request/caller.ts'
import type { NotifyScopes } from './request/scopes.ts'
import type { NotifyStore } from './store/store.ts'

/** What the service is built from. */
export interface CreateNotifyOptions {
  readonly store: NotifyStore
  /** Who carries each channel, the preferred first. In-app without one goes to the feed. */
  readonly providers: Partial<Record<Channel, readonly Provider[]>>
  /** By name, what each provider is and which setting has its credentials. Default: nothing is said. */
  readonly providerSources?: Readonly<Record<string, ProviderSource>>
  /** What the configuration declares; last edit wins against what was changed at run time. */
  readonly declared?: NotifyDeclarations
  /** Event types of another service's mails, which nobody else sends and nobody changes at run time. */
  readonly reserved?: ReservedDeclarations | undefined
  readonly authenticate: Authenticate
  /** Looks after open streams: a credential may be revoked before it expires. */
  readonly watch?: WatchCredential
  readonly scopes?: NotifyScopes
  /** Keeps the audit trail of what the management changes. Default: the log. */
  readonly recordChange?: RecordChange
  readonly options?: Partial<NotifyOptions>
  /**
   * The queue topic `notifications` and the stream `notifications.events`. The store should then be told to keep state
   * changes for the stream. `stop` closes it.
   */
  readonly topic?: Topic
  /** Mounts /dev/mailbox, which asks nobody who they are: embedded mode only. Default false. */
  readonly devMailbox?: boolean
  /** The pages that /dev/mailbox links to, in a language. Default: none. */
  readonly devLinks?: (locale: string) => readonly SiteLink[]
  /** Runs the workers in this process. Without them it reads no topic that is divided. Default true. */
  readonly work?: boolean
  /** What signs the links of mails and the tokens of receipts; without it messages carry none of them. */
  readonly linkSecret?: Secret | LinkSecrets
  /** How the pages look that mails lead to. */
  readonly branding?: Partial<Branding>
  /** Where the world reaches us, without a slash at the end. Default `http://localhost`. */
  readonly publicUrl?: string
  /** The Prometheus that reads the metrics of all processes: statistics are read there. Default: the own history. */
  readonly prometheusUrl?: Secret | undefined
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Registry
}
