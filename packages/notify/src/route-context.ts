import type { Clock, Log, StatReader } from '@gatehouse/kit'
import type { PageParts, SiteLink } from '@gatehouse/kit/page'
import type { Provider } from '@gatehouse/providers'
import type { AsSent } from './api/templates/as-sent.ts'
import type { TestContext } from './api/templates/test-send.ts'
import type { CatalogKeeper } from './catalog/catalog.ts'
import type { Reserved } from './catalog/reserved.ts'
import type { NotifyOptions } from './config/options.ts'
import type { Audit } from './context/audit.ts'
import type { NotifyMetrics } from './context/metrics.ts'
import type { ProviderActivity } from './context/provider-activity.ts'
import type { Reports } from './context/reports.ts'
import type { ShowAllItems, ShowItems } from './inbox/record.ts'
import type { InboxStreams } from './inbox/streams.ts'
import type { Accept } from './intake/accept.ts'
import type { Links } from './links/links.ts'
import type { ReceiptTokens } from './links/receipt-token.ts'
import type { ProviderSource } from './model/delivery/provider-order.ts'
import type { Plan } from './plan/plan-input.ts'
import type { Choices } from './preferences/choices.ts'
import type { AccessControl, WatchCredential } from './request/caller.ts'
import type { SearchSlots } from './request/search-slots.ts'
import type { ChangeReaders } from './state-changes/readers.ts'
import type { NotifyStore } from './store/store.ts'
import type { NotificationStreams } from './trace/streams.ts'

/** What the endpoints share. Each endpoint names, in its own context, the part that it uses. */
export interface RouteContext {
  readonly access: AccessControl
  readonly audit: Audit
  readonly accept: Accept
  readonly catalog: CatalogKeeper
  readonly reserved: Reserved
  readonly store: NotifyStore
  readonly options: NotifyOptions
  readonly providers: readonly Provider[]
  readonly reports: Reports
  readonly activity: ProviderActivity
  /** By name, what each provider is and which setting has its credentials. */
  readonly providerSources: Readonly<Record<string, ProviderSource>>
  readonly metrics: NotifyMetrics
  readonly slots: SearchSlots
  /** What was counted, over time. */
  readonly history: StatReader
  readonly clock: Clock
  readonly log: Log
  /** Called after a replay of dead letters. */
  readonly onReplayed: () => void
  readonly onScheduled: (id: string, fireAt: number) => void
  readonly onReleased: (buckets: readonly number[]) => void
  readonly plan: Plan
  readonly testSend: TestContext['testSend']
  readonly completeMessages: AsSent['completeMessages']
  readonly streams: InboxStreams
  readonly readers: ChangeReaders
  readonly notificationStreams: NotificationStreams
  /** How inbox items are shown to callers who may not read personal data. */
  readonly masked: ShowItems
  /** How they are shown to the others. */
  readonly shown: ShowAllItems
  readonly watch: WatchCredential | undefined
  readonly choices: Choices
  readonly links: Links | undefined
  readonly receiptTokens: ReceiptTokens | undefined
  readonly pages: PageParts
  readonly publicUrl: string
  /** Mounts /dev/mailbox. */
  readonly devMailbox: boolean
  /** The pages that it links to, in a language. */
  readonly devLinks: (locale: string) => readonly SiteLink[]
}
