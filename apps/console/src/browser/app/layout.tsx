import { AppShell, Burger, Button, Group, NavLink, Stack, Text, UnstyledButton } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { notifications } from '@mantine/notifications'
import { spotlight } from '@mantine/spotlight'
import { useMutation } from '@tanstack/react-query'
import { Link, Outlet, useRouterState } from '@tanstack/react-router'
import { useEffect } from 'react'
import { useSession } from '../api/session.tsx'
import { signOut } from '../api/sign-out.ts'
import { Icon } from '../parts/icon.tsx'
import { reasonOf } from '../parts/states.tsx'
import { useTexts } from '../texts/settings.tsx'
import { KeyboardHelp } from './keyboard.tsx'
import type { Section } from './navigation.ts'
import { CommandPalette } from './search/palette.tsx'
import { useSections } from './sections.ts'

/** What surrounds every screen: name, search, navigation. */
export function Layout() {
  const t = useTexts()
  const [open, { toggle, close }] = useDisclosure()
  const path = useRouterState({ select: ({ location }) => location.pathname })
  // biome-ignore lint/correctness/useExhaustiveDependencies: the menu closes when the page changes
  useEffect(close, [path])
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 240, breakpoint: 'sm', collapsed: { mobile: !open } }}
      padding={{ base: 'md', md: 'xl' }}
    >
      <a className="skip" href="#content">
        {t.common.skip}
      </a>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger opened={open} onClick={toggle} hiddenFrom="sm" size="sm" aria-label={t.common.menu} />
            <Link to="/" className="brand">
              <span className="mark" aria-hidden="true">
                G
              </span>
              <span className="brand-name">{t.product}</span>
            </Link>
          </Group>
          <SearchButton />
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="sm" component="nav" aria-label={t.common.menu}>
        <Navigation path={path} />
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1}>
        <Outlet />
      </AppShell.Main>
      <CommandPalette />
      <KeyboardHelp />
    </AppShell>
  )
}

function SearchButton() {
  const t = useTexts()
  return (
    <UnstyledButton className="search-button" onClick={spotlight.open}>
      <Icon name="search" size={16} />
      <span>{t.common.search}</span>
      <kbd>/</kbd>
    </UnstyledButton>
  )
}

/** The section that an address belongs to: the one with the longest path. */
function sectionOf(path: string, sections: readonly Section[]): Section['id'] | undefined {
  const around = sections.filter((section) => path === section.path || path.startsWith(`${section.path}/`))
  return around.sort((a, b) => b.path.length - a.path.length)[0]?.id
}

/** The menu is longer than most windows: it is scrolled to the section that is open. */
function showLink(link: HTMLElement | null): void {
  link?.scrollIntoView({ block: 'nearest' })
}

function Navigation({ path }: { path: string }) {
  const t = useTexts()
  const sections = useSections()
  const groups = [...Map.groupBy(sections, ({ group }) => group)]
  const here = sectionOf(path, sections)
  return (
    <Stack justify="space-between" h="100%" gap="md" className="navigation">
      <div>
        {groups.map(([group, members]) => (
          <div key={group} className="nav-group">
            {group !== 'home' && (
              <Text size="xs" c="dimmed" fw={600} px="xs">
                {t.groups[group]}
              </Text>
            )}
            {members.map(({ id, path: target, icon }) => {
              const active = id === here
              return (
                <NavLink
                  key={id}
                  ref={active ? showLink : undefined}
                  component={Link}
                  to={target}
                  label={t.sections[id]}
                  leftSection={<Icon name={icon} />}
                  active={active}
                  {...(active ? { 'aria-current': 'page' as const } : {})}
                />
              )
            })}
          </div>
        ))}
      </div>
      <Person />
    </Stack>
  )
}

function Person() {
  const t = useTexts()
  const { user, roles } = useSession()
  const leaving = useMutation({
    mutationFn: signOut,
    onError: (error) => notifications.show({ message: `${t.common.notSignedOut} ${reasonOf(error, t)}`, color: 'red' }),
  })
  return (
    <Stack gap={6} p="xs" className="person">
      <Text size="sm" fw={600} truncate>
        {user}
      </Text>
      <Text size="xs" c="dimmed">
        {roles.map((role) => (role in t.roles ? t.roles[role as keyof typeof t.roles] : role)).join(', ')}
      </Text>
      <Button
        size="xs"
        variant="default"
        leftSection={<Icon name="leave" size={14} />}
        loading={leaving.isPending}
        onClick={() => leaving.mutate()}
      >
        {t.common.signOut}
      </Button>
    </Stack>
  )
}
