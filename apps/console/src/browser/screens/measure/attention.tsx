import type { Warning } from '@gatehouse/client'
import { Group, Stack, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { gather, type SystemAnswer, useSystem } from '../../api/system.ts'
import { Answer } from '../../parts/states.tsx'
import { State, Time } from '../../parts/values/values.tsx'
import { useTexts } from '../../texts/settings.tsx'
import { Figures } from './parts.tsx'

const tones = { error: 'bad', warning: 'careful', info: 'neutral' } as const
/** Where each warning is looked into. */
const places: Readonly<Record<string, string>> = {
  api_keys_old: '/api-keys',
  dead_letters_grow: '/dead-letters',
  provider_misconfigured: '/providers',
  provider_open: '/providers',
  provider_paused: '/providers',
  provider_silent: '/providers',
  signing_key_overdue: '/signing-keys',
  single_owner: '/administrators',
}

/** What needs attention, the worst first. */
export function Attention({ paths }: { paths: ReadonlySet<string> }) {
  const t = useTexts()
  const query = useSystem('status')
  return (
    <Figures title={t.overview.attention}>
      <Answer action="readStatus" query={query}>
        {(answers) => <Findings answers={answers} paths={paths} />}
      </Answer>
    </Figures>
  )
}

function Findings({
  answers,
  paths,
}: {
  answers: SystemAnswer<{ warnings: readonly Warning[] }>
  paths: ReadonlySet<string>
}) {
  const t = useTexts()
  const warnings = gather(answers, (answer) => answer.warnings)
  const urgent = warnings.filter(({ severity }) => severity !== 'info')
  const away = answers.filter(({ answer }) => answer === undefined)
  return (
    <Stack gap="xs">
      {away.map(({ services, problem }) => (
        <Group key={services.join()} gap="sm">
          <State tone="bad">{t.system.unreachable}</State>
          <Text size="sm">
            {services.join(', ')}: {problem?.detail}
          </Text>
        </Group>
      ))}
      {urgent.length === 0 && away.length === 0 && <State tone="good">{t.overview.calm}</State>}
      {urgent.length > 0 && <WarningList warnings={urgent} paths={paths} />}
      {warnings.length > urgent.length && (
        <Text size="sm" c="dimmed">
          <Link to="/system">{t.overview.notes(warnings.length - urgent.length)}</Link>
        </Text>
      )}
    </Stack>
  )
}

/** Warnings in words, with since when and where to look. `paths` are the addresses that there are. */
export function WarningList({ warnings, paths }: { warnings: readonly Warning[]; paths: ReadonlySet<string> }) {
  const t = useTexts()
  return (
    <ul className="findings">
      {warnings.map((warning) => {
        const { code, severity, subject, since } = warning
        const place = places[code]
        const words = wordsOf(t.warnings, warning)
        return (
          <li key={`${code} ${subject}`}>
            <State tone={tones[severity as keyof typeof tones] ?? 'neutral'}>
              {t.severities[severity as keyof typeof t.severities] ?? severity}
            </State>
            <span>{place !== undefined && paths.has(place) ? <Link to={place}>{words}</Link> : words}</span>
            <span className="dim">
              {t.overview.since} <Time at={since} />
            </span>
          </li>
        )
      })}
    </ul>
  )
}

type Words = Readonly<Record<string, (subject: string, count: number) => string>>

function wordsOf(words: Words, { code, subject = '', count = 0 }: Warning): string {
  return words[code]?.(subject, count) ?? `${code} ${subject}`
}
