import { ApiError } from '@gatehouse/client'
import { Alert, Button, CopyButton, Stack, Text, Title } from '@mantine/core'
import { useNavigate, useParams } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { useFilters } from '../../api/filters.ts'
import { useRead } from '../../api/queries.ts'
import { useMay } from '../../api/session.tsx'
import { Act } from '../../parts/changes/act.tsx'
import { Page } from '../../parts/page.tsx'
import { Answer, Loading } from '../../parts/states.tsx'
import { Facts } from '../../parts/values/values.tsx'
import { useTexts } from '../../texts/settings.tsx'
import { type Declaration, differencesOf, type LimitKind, type StoredLimit, toYaml } from './declaration.ts'
import { Differences } from './differences.tsx'
import { DraftPanel, useDraft } from './draft.tsx'
import { Shadow } from './shadow/shadow.tsx'
import type { Candidate } from './simulation/simulator.tsx'
import { Members } from './use/members.tsx'
import { Use } from './use/use.tsx'
import { Amounts } from './words.tsx'

const Simulator = lazy(async () => ({ default: (await import('./simulation/simulator.tsx')).Simulator }))

/** One tier. */
export function TierScreen() {
  return <LimitScreen kind="tiers" />
}

/** One policy. */
export function PolicyScreen() {
  return <LimitScreen kind="policies" />
}

function LimitScreen({ kind }: { kind: LimitKind }) {
  const t = useTexts()
  const { name } = useParams({ strict: false }) as { name: string }
  const action = kind === 'tiers' ? 'readTier' : 'readPolicy'
  const query = useRead(action, { name })
  const isNew = query.error instanceof ApiError && query.error.status === 404
  const { declaration, file, etag } = query.data ?? {}
  const limit = { kind, name, declaration, file, etag } as StoredLimit
  const title = kind === 'tiers' ? t.limit.tier(name) : t.limit.policy(name)
  return (
    <Page title={title} actions={declaration === undefined ? undefined : <LimitActions limit={limit} />}>
      {isNew ? (
        <LimitBody key={name} limit={limit} />
      ) : (
        <Answer action={action} query={query}>
          {() => <LimitBody key={name} limit={limit} />}
        </Answer>
      )}
    </Page>
  )
}

function LimitActions({ limit: { kind, name, declaration, etag } }: { limit: StoredLimit }) {
  const t = useTexts()
  const navigate = useNavigate()
  return (
    <>
      <CopyButton value={toYaml(kind, name, declaration ?? {})}>
        {({ copied, copy }) => (
          <Button size="xs" variant="default" onClick={copy}>
            {copied ? t.common.copied : t.limit.copyYaml}
          </Button>
        )}
      </CopyButton>
      <Act
        action={kind === 'tiers' ? 'deleteTier' : 'deletePolicy'}
        input={{ name }}
        shown={{ value: declaration ?? {}, etag }}
        label={t.limit.remove}
        text={t.limit.removeText[kind]}
        word={name}
        done={t.limit.removed}
        onDone={() => void navigate({ to: '/limits' })}
      />
    </>
  )
}

function LimitBody({ limit }: { limit: StoredLimit }) {
  const t = useTexts()
  const may = useMay()
  const [{ id: recorded }] = useFilters(['id'])
  const [isSimulating, setSimulating] = useState(recorded !== undefined)
  const draft = useDraft(limit)
  const { kind, name, declaration, file } = limit
  const drifts = file !== undefined && differencesOf(file, declaration).length > 0
  const canEdit = may(kind === 'tiers' ? 'putTier' : 'putPolicy')
  return (
    <Stack gap="lg">
      {declaration === undefined ? <Alert>{t.limit.nothing}</Alert> : <Present declaration={declaration} />}
      {declaration?.shadow !== undefined && <Shadow limit={limit} draft={draft} canEdit={canEdit} />}
      {drifts && (
        <section className="panel" aria-label={t.limit.drift}>
          <Title order={2} size="h5">
            {t.limit.drift}
          </Title>
          <Text size="sm" c="dimmed" mb="xs">
            {t.limit.driftLead}
          </Text>
          <Differences
            before={file}
            after={declaration}
            names={[t.limit.inFile, t.limit.stored]}
            label={t.limit.drift}
          />
        </section>
      )}
      {canEdit && <DraftPanel limit={limit} draft={draft} simulate={() => setSimulating(true)} />}
      {isSimulating || !canEdit ? (
        <Suspense fallback={<Loading />}>
          <LimitSimulator key={`${kind} ${name}`} limit={limit} drafted={canEdit ? draft.declaration : undefined} />
        </Suspense>
      ) : null}
      {declaration !== undefined && <Use name={name} />}
      {declaration !== undefined && <Members kind={kind} name={name} />}
    </Stack>
  )
}

/** What applies now. */
function Present({ declaration }: { declaration: Declaration }) {
  const t = useTexts()
  const { algorithm = 'sliding-window', failure_mode: failureMode = 'local', mode = 'exact' } = declaration
  return (
    <section className="panel" aria-label={t.limit.now}>
      <Facts
        facts={[
          [t.limits.allows, <Amounts key="amounts" of={declaration} />],
          [t.limit.algorithm, t.limit.algorithms[algorithm]],
          [
            t.limit.dailyAlgorithm,
            declaration.daily_algorithm === undefined ? undefined : t.limit.algorithms[declaration.daily_algorithm],
          ],
          [t.limit.failureMode, t.limits.modes[failureMode]],
          [t.limit.mode, t.limit.countings[mode]],
          [t.limit.quota, t.limit.quotas[declaration.quota ?? 'global']],
          [t.limit.shards, declaration.shards],
          [t.limit.shared, declaration.shared === true ? t.common.yes : undefined],
        ]}
      />
    </section>
  )
}

interface LimitSimulatorProps {
  readonly limit: StoredLimit
  readonly drafted: Declaration | undefined
}

/** The simulator with this tier or policy as it is, the draft, and all others. */
function LimitSimulator({ limit: { kind, name, declaration }, drafted }: LimitSimulatorProps) {
  const t = useTexts()
  const settings = useRead('readLimitSettings').data
  const others = (['tiers', 'policies'] as const).flatMap((each) =>
    Object.entries(settings?.[each] ?? {}).map(([other, declared]) => ({
      kind: each,
      name: other,
      declaration: declared as Declaration,
    })),
  )
  const present = declaration === undefined ? [] : [{ kind, name, declaration }]
  const all = [...present, ...others.filter((one) => one.kind !== kind || one.name !== name)]
  const candidates: Candidate[] = [
    ...(drafted === undefined
      ? []
      : [{ id: 'draft', label: t.simulator.asDrafted(name), limit: { kind, name, declaration: drafted } }]),
    ...all.map((one) => ({ id: `${one.kind}/${one.name}`, label: t.simulator.asItIs(one.name), limit: one })),
  ]
  return <Simulator candidates={candidates} first={`${kind}/${name}`} />
}
