import { Code, Group, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { TimelineEntry } from '../../../api/records.ts'
import { SmsFailure } from '../../../parts/values/sms-failure.tsx'
import { State, Time } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { useWords } from '../code-words.ts'
import { wordOf } from '../word-of.ts'

type Detail = Readonly<Record<string, unknown>>

const bad = new Set([
  'attempt_failed',
  'dead_letter',
  'bounced',
  'complained',
  'failed',
  'undeliverable',
  'no_recipient',
])
const good = new Set(['sent', 'delivered', 'opened', 'clicked', 'acknowledged'])

/** One entry of a history: what happened, when, and what was answered or decided, in words. */
export function HistoryEntry({ entry, isFlat = false }: { entry: TimelineEntry; isFlat?: boolean }) {
  const words = useWords()
  const { at, what } = entry
  const detail = (entry.detail ?? {}) as Detail
  const sign = bad.has(what) ? 'bad' : good.has(what) ? 'good' : 'none'
  return (
    <div className={`history-entry ${isFlat ? 'flat' : ''}`}>
      <Group gap={6} className="history-what">
        {sign !== 'none' && (
          <span className={`sign ${sign}`} aria-hidden="true">
            {sign === 'good' ? '✓' : '✕'}
          </span>
        )}
        <strong>{words.what(what)}</strong>
        <Text size="xs" c="dimmed" component="span">
          <Time at={at} />
        </Text>
      </Group>
      <EntryDetail what={what} detail={detail} />
    </div>
  )
}

/** What an entry tells, by the members that it has. */
function EntryDetail({ what, detail }: { what: string; detail: Detail }) {
  const t = useTexts()
  const words = useWords()
  const { attempt, until, variables, template, machine, channels, because, provider, link } = detail
  const lines: ReactNode[] = []
  if (typeof attempt === 'number') lines.push(t.notification.attempt(attempt))
  if (isTemplate(template)) lines.push(t.notification.template(template.id, template.version, template.locale))
  if (Array.isArray(channels)) lines.push(channels.map((name) => words.channel(String(name))).join(', '))
  if (typeof because === 'string') lines.push(`${t.why.by} ${wordOf(t.why.authors, because)}`)
  if (Array.isArray(variables)) lines.push(variables.join(', '))
  if (typeof until === 'string') lines.push(<Until at={until} />)
  if (typeof provider === 'string') lines.push(provider)
  if (machine === true) lines.push(<State tone="neutral">bot</State>)
  if (typeof link === 'string') lines.push(<Code>{link}</Code>)
  lines.push(...reasonsOf(what, detail, words))
  const results = Array.isArray(detail.results) ? (detail.results as readonly Detail[]) : []
  return (
    <div className="history-detail">
      {lines.map((line, n) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines of one entry never change places
        <div key={n}>{line}</div>
      ))}
      {results.map((result) => (
        <ProviderAnswer key={`${String(result.target)} ${String(result.provider)}`} result={result} />
      ))}
      <Into detail={detail} />
    </div>
  )
}

/** Why, in our words by its code; what a provider or a template said is quoted as it is. */
function reasonsOf(what: string, { reason_code: code, reason, params }: Detail, words: ReturnType<typeof useWords>) {
  const { suppression, cap, limit } = (params ?? {}) as Detail
  const lines: ReactNode[] = []
  if (typeof code === 'string') lines.push(words.reason(code))
  if (typeof suppression === 'string') lines.push(words.suppression(suppression))
  if (typeof cap === 'string') lines.push(`${cap}: ${String(limit)}`)
  const isQuote = typeof code !== 'string' || /^template_|^permanent$|^attempts_/.test(code)
  if (typeof reason === 'string' && isQuote && what !== 'channels')
    lines.push(<Code className="quote">{reason}</Code>, <SmsFailure answer={reason} />)
  return lines
}

function ProviderAnswer({ result: { target, provider, result, reason } }: { result: Detail }) {
  const t = useTexts()
  const tone = result === 'accepted' ? 'good' : result === 'transient' || result === 'rate_limited' ? 'careful' : 'bad'
  return (
    <div className="provider-answer">
      <Group gap={6}>
        <State tone={tone}>{wordOf(t.codes.providerResults, String(result))}</State>
        <span>{String(provider)}</span>
        <Text size="xs" c="dimmed" component="span">
          {String(target)}
        </Text>
      </Group>
      {typeof reason === 'string' && <Code className="quote">{reason}</Code>}
      {typeof reason === 'string' && <SmsFailure answer={reason} />}
    </div>
  )
}

function Until({ at }: { at: string }) {
  const t = useTexts()
  return (
    <>
      {t.notification.until} <Time at={at} />
    </>
  )
}

function Into({ detail: { into } }: { detail: Detail }) {
  if (typeof into !== 'string') return null
  return (
    <Link to="/notifications/$id" params={{ id: into }}>
      {into}
    </Link>
  )
}

function isTemplate(value: unknown): value is { id: string; version: number; locale: string } {
  return typeof value === 'object' && value !== null && 'version' in value
}
