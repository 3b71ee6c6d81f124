import { ActionIcon, Badge, Code, CopyButton, Group, Tooltip } from '@mantine/core'
import type { ReactNode } from 'react'
import { dateLocale, useSettings, useTexts } from '../../texts/settings.tsx'
import { Icon } from '../icon.tsx'

/** A moment, as the person chose to see times; the exact one is in its title. */
export function Time({ at }: { at: string | undefined }) {
  const { settings } = useSettings()
  if (at === undefined) return null
  const zone = settings.zone === 'utc' ? { timeZone: 'UTC' } : {}
  const format = new Intl.DateTimeFormat(dateLocale(settings.language), {
    dateStyle: 'medium',
    timeStyle: 'medium',
    ...zone,
  })
  return (
    <time dateTime={at} title={at}>
      {format.format(new Date(at))}
      {settings.zone === 'utc' ? ' UTC' : ''}
    </time>
  )
}

/** A time of today, to the second. */
export function TimeOfDay({ at }: { at: number }) {
  const { settings } = useSettings()
  const zone = settings.zone === 'utc' ? { timeZone: 'UTC' } : {}
  const format = new Intl.DateTimeFormat(dateLocale(settings.language), { timeStyle: 'medium', ...zone })
  return (
    <time dateTime={new Date(at).toISOString()}>
      {format.format(at)}
      {settings.zone === 'utc' ? ' UTC' : ''}
    </time>
  )
}

interface IdProps {
  readonly value: string
  /** What is copied, for screen readers. Default: the value. */
  readonly label?: string
  readonly children?: ReactNode
}

/** An id with a button that copies it. */
export function Id({ value, label = value, children }: IdProps) {
  const t = useTexts()
  return (
    <Group gap={4} wrap="nowrap" className="id">
      {children ?? <Code>{value}</Code>}
      <CopyButton value={value}>
        {({ copied, copy }) => (
          <Tooltip label={copied ? t.common.copied : t.common.copy}>
            <ActionIcon variant="subtle" color="gray" size={26} onClick={copy} aria-label={`${t.common.copy} ${label}`}>
              <Icon name={copied ? 'check' : 'copy'} size={14} />
            </ActionIcon>
          </Tooltip>
        )}
      </CopyButton>
    </Group>
  )
}

type Tone = 'good' | 'bad' | 'neutral' | 'careful'

const tones = {
  good: { color: 'green', sign: '✓' },
  bad: { color: 'red', sign: '✕' },
  careful: { color: 'yellow', sign: '!' },
  neutral: { color: 'gray', sign: '•' },
} as const

/** A state, by sign and word and not by colour alone. */
export function State({ tone, children }: { tone: Tone; children: ReactNode }) {
  const { color, sign } = tones[tone]
  return (
    <Badge
      variant="light"
      color={color}
      className={`state ${tone}`}
      leftSection={<span aria-hidden="true">{sign}</span>}
    >
      {children}
    </Badge>
  )
}

/** Short values beside each other, such as scopes. */
export function Words({ values }: { values: readonly string[] }) {
  const t = useTexts()
  if (values.length === 0) return <span className="dim">{t.common.none}</span>
  return (
    <Group gap={4}>
      {values.map((value) => (
        <Code key={value}>{value}</Code>
      ))}
    </Group>
  )
}

/** Names with their values. Those without a value are left out. */
export function Facts({ facts }: { facts: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="facts">
      {facts
        .filter(([, value]) => value !== undefined && value !== null)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  )
}

/** A value as JSON. */
export function Json({ value, label }: { value: unknown; label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled with the keyboard
    <section className="json" tabIndex={0} aria-label={label}>
      <pre>{JSON.stringify(value, undefined, 2)}</pre>
    </section>
  )
}
