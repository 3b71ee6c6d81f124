import type { LimitSettings } from '@gatehouse/client'
import { Button, Group, Stack, Tabs, Text, TextInput, Title } from '@mantine/core'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useFilters } from '../../api/filters.ts'
import { useRead } from '../../api/queries.ts'
import { useMay } from '../../api/session.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Page } from '../../parts/page.tsx'
import { Answer } from '../../parts/states.tsx'
import { Rows } from '../../parts/table.tsx'
import { State, Time } from '../../parts/values/values.tsx'
import { useTexts } from '../../texts/settings.tsx'
import { declarationsOf, type LimitKind } from './declaration.ts'
import { Gateways, useGateways } from './gateways.tsx'
import { Overrides } from './overrides/overrides.tsx'
import { Versions } from './versions.tsx'
import { Amounts } from './words.tsx'

const tabs = ['limits', 'versions', 'overrides', 'gateways'] as const

/** Tiers and policies, their versions, who has a limit of their own, and which version applies where. */
export function LimitsScreen() {
  const t = useTexts()
  const [{ tab: chosen }, open] = useFilters(['tab'])
  const tab = tabs.find((name) => name === chosen) ?? 'limits'
  const query = useRead('readLimitSettings')
  return (
    <Page title={t.sections.limits} lead={t.limits.lead} actions={<NewLimit />}>
      <Answer action="readLimitSettings" query={query}>
        {(settings) => (
          <Stack gap="md">
            <ActiveVersion settings={settings} />
            <Tabs value={tab} onChange={(next) => open({ tab: next ?? 'limits' })} keepMounted={false}>
              <Tabs.List mb="md">
                {tabs.map((name) => (
                  <Tabs.Tab key={name} value={name}>
                    {t.limits.tabs[name]}
                  </Tabs.Tab>
                ))}
              </Tabs.List>
              <Tabs.Panel value="limits">
                <Stack gap="xl">
                  <Declarations settings={settings} kind="tiers" />
                  <Declarations settings={settings} kind="policies" />
                </Stack>
              </Tabs.Panel>
              <Tabs.Panel value="versions">
                <Versions active={settings.version} />
              </Tabs.Panel>
              <Tabs.Panel value="overrides">
                <Overrides settings={settings} />
              </Tabs.Panel>
              <Tabs.Panel value="gateways">
                <Gateways active={settings.version} />
              </Tabs.Panel>
            </Tabs>
          </Stack>
        )}
      </Answer>
    </Page>
  )
}

/** Which version is active, by whom, and where it applies already. */
function ActiveVersion({ settings }: { settings: LimitSettings }) {
  const t = useTexts()
  const live = useGateways(settings.version).data?.items ?? []
  const applied = live.filter(({ version }) => version === settings.version).length
  return (
    <Group className="panel" gap="md" justify="space-between">
      <div className="heading">
        <Text fw={600}>
          {t.limits.active(settings.version)} · {t.limits.origins[settings.origin as 'file' | 'edit' | 'rollback']}
          {settings.author === undefined ? '' : ` ${t.limits.by(settings.author)}`}
        </Text>
        <Text size="sm" c="dimmed">
          <Time at={settings.created_at} />
          {settings.comment === '' ? '' : ` · ${settings.comment}`}
        </Text>
        {settings.global_policy !== undefined && <Text size="sm">{t.limits.global(settings.global_policy)}</Text>}
      </div>
      {live.length > 0 && (
        <State tone={applied === live.length ? 'good' : 'careful'}>{t.limits.applied(applied, live.length)}</State>
      )}
    </Group>
  )
}

interface DeclarationsProps {
  readonly settings: LimitSettings
  readonly kind: LimitKind
}

/** The tiers or the policies. */
function Declarations({ settings, kind }: DeclarationsProps) {
  const t = useTexts()
  const stored = declarationsOf(settings, kind)
  const rows = Object.entries(stored)
    .map(([name, declaration]) => ({ name, declaration }))
    .sort((one, other) => (one.name < other.name ? -1 : 1))
  return (
    <section aria-labelledby={`limits-${kind}`}>
      <Title order={2} size="h4" id={`limits-${kind}`}>
        {t.limits[kind]}
      </Title>
      <Text size="sm" c="dimmed" mb="sm">
        {kind === 'tiers' ? t.limits.tiersLead : t.limits.policiesLead}
      </Text>
      <Rows
        label={t.limits[kind]}
        rows={rows}
        keyOf={({ name }) => name}
        columns={[
          { label: t.limits.name, render: ({ name }) => <LimitLink kind={kind} name={name} /> },
          { label: t.limits.allows, render: ({ declaration }) => <Amounts of={declaration} /> },
          {
            label: t.limits.inShadow,
            render: ({ declaration }) => <Amounts of={declaration.shadow} />,
          },
          {
            label: t.limits.whenAway,
            render: ({ declaration }) => t.limits.modes[declaration.failure_mode ?? 'local'],
          },
          { label: t.limits.state, render: ({ name }) => <Drift settings={settings} kind={kind} name={name} /> },
        ]}
      />
    </section>
  )
}

/** A tier or policy by name, as a link to its page. */
export function LimitLink({ kind, name }: { kind: LimitKind; name: string }) {
  return (
    <Link to={`/limits/${kind}/$name`} params={{ name }}>
      {name}
    </Link>
  )
}

/** Whether a tier or policy is as the file has it. */
export function Drift({ settings, kind, name }: DeclarationsProps & { name: string }) {
  const t = useTexts()
  if (!settings.drift.includes(`${kind}/${name}`)) return <State tone="neutral">{t.limits.asFile}</State>
  const isInFile = declarationsOf(settings.file, kind)[name] !== undefined
  const isStored = declarationsOf(settings, kind)[name] !== undefined
  const words = isInFile ? (isStored ? t.limits.differs : t.limits.onlyFile) : t.limits.onlyStored
  return <State tone="careful">{words}</State>
}

/** Leads to the page of a tier or policy that does not exist yet. */
function NewLimit() {
  const t = useTexts()
  const may = useMay()
  const navigate = useNavigate()
  const [kind, setKind] = useState<LimitKind>()
  if (!may('putTier')) return null
  const words = { tiers: t.limits.newTier, policies: t.limits.newPolicy }
  return (
    <>
      {(['tiers', 'policies'] as const).map((one) => (
        <Button key={one} variant="default" onClick={() => setKind(one)}>
          {words[one]}
        </Button>
      ))}
      <Dialog title={kind === undefined ? '' : words[kind]} open={kind !== undefined} close={() => setKind(undefined)}>
        <form
          onSubmit={(event) => {
            event.preventDefault()
            const name = String(new FormData(event.currentTarget).get('name'))
            void navigate({ to: `/limits/${kind}/$name`, params: { name } })
          }}
        >
          <Stack>
            <TextInput
              name="name"
              label={t.limits.name}
              description={t.limits.nameHelp}
              pattern="[A-Za-z0-9][A-Za-z0-9_.\-]{0,63}"
              required
              data-autofocus
              autoComplete="off"
            />
            <Group justify="flex-end">
              <Button variant="default" onClick={() => setKind(undefined)}>
                {t.common.cancel}
              </Button>
              <Button type="submit">{t.limits.create}</Button>
            </Group>
          </Stack>
        </form>
      </Dialog>
    </>
  )
}
