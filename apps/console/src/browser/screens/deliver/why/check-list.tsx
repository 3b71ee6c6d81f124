import { Code, Text } from '@mantine/core'
import { Link, useRouter } from '@tanstack/react-router'
import { Time } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { useWords } from '../code-words.ts'
import type { Check, CheckFact, CheckName, Verdict } from './checks.ts'

interface CheckListProps {
  readonly checks: readonly Check[]
  readonly event: string
  readonly user: string
  /** The notification that used the dedup key. */
  readonly duplicateOf: string | undefined
}

const signs: Readonly<Record<Verdict, string>> = { passed: '✓', stopped: '✕', waits: '…', skipped: '–' }

/** The checks of a channel in order: each with its verdict, the fact, whose word it was, and where to change it. */
export function CheckList({ checks, event, user, duplicateOf }: CheckListProps) {
  const t = useTexts()
  return (
    <ol className="checks">
      {checks.map(({ name, verdict, facts, author, until }) => (
        <li key={name} className={`check ${verdict}`}>
          <span className={`sign ${verdict}`} aria-hidden="true">
            {signs[verdict]}
          </span>
          <div>
            <strong>{t.why.checks[name]}</strong> <span className="dim verdict">{t.why.verdicts[verdict]}</span>
            {facts.map((fact) => (
              <Fact key={JSON.stringify(fact)} fact={fact} />
            ))}
            {until !== undefined && (
              <Text size="sm">
                {t.notification.until} <Time at={until} />
              </Text>
            )}
          </div>
          <div className="check-author">
            {verdict !== 'skipped' && (
              <Text size="xs" c="dimmed">
                {t.why.by} {t.why.authors[author]}
              </Text>
            )}
            {verdict !== 'skipped' && <Change check={name} event={event} user={user} duplicateOf={duplicateOf} />}
          </div>
        </li>
      ))}
    </ol>
  )
}

/** Where a check is changed: the screen, its parameters and filters. */
const places: Readonly<Partial<Record<CheckName, readonly [path: string, search: 'user_id' | 'user' | undefined]>>> = {
  event: ['/event-types/$event', undefined],
  aggregation: ['/event-types/$event', undefined],
  channels: ['/users/$id', undefined],
  quiet: ['/users/$id', undefined],
  address: ['/users/$id', undefined],
  suppression: ['/suppressions', 'user_id'],
  template: ['/templates', undefined],
  provider: ['/providers', undefined],
}

function Change({ check, event, user, duplicateOf }: Omit<CheckListProps, 'checks'> & { check: CheckName }) {
  const t = useTexts()
  const { routesByPath } = useRouter()
  if (check === 'duplicate' && duplicateOf !== undefined)
    return (
      <Link to="/notifications/$id" params={{ id: duplicateOf }}>
        {t.sections.notification}
      </Link>
    )
  const [path, filter] = places[check] ?? []
  if (path === undefined || !Object.hasOwn(routesByPath, path)) return null
  return (
    <Link to={path} params={{ event, id: user }} search={(filter === undefined ? {} : { [filter]: user }) as never}>
      {t.why.change}
    </Link>
  )
}

function Fact({ fact }: { fact: CheckFact }) {
  const t = useTexts()
  const words = useWords()
  const { facts } = t.why
  switch (fact.fact) {
    case 'reason':
      return (
        <>
          <Text size="sm">
            {words.reason(fact.code)} {fact.suppression !== undefined && `(${words.suppression(fact.suppression)})`}
          </Text>
          {fact.text !== undefined && /^template_/.test(fact.code) && <Code className="quote">{fact.text}</Code>}
        </>
      )
    case 'eventKnown':
      return <Text size="sm">{facts.eventKnown(words.priority(fact.priority))}</Text>
    case 'rate':
      return <Text size="sm">{facts.rate(fact.limit, fact.seconds)}</Text>
    case 'cap':
      return (
        <Text size="sm">
          {facts.cap(fact.used, fact.limit)} ({fact.cap})
        </Text>
      )
    case 'template':
      return <Text size="sm">{facts.template(fact.id, fact.locale)}</Text>
    case 'providers':
      return <Text size="sm">{facts.providers(fact.names.join(', '))}</Text>
    case 'missing':
      return <Text size="sm">{facts.missing(fact.names.join(', '))}</Text>
    case 'gathered':
      return <Text size="sm">{facts.gathered(fact)}</Text>
    case 'lastReport':
      return <Text size="sm">{facts.lastReport(words.state(fact.state))}</Text>
    default:
      return <Text size="sm">{facts[fact.fact]}</Text>
  }
}
