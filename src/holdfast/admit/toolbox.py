"""Things of which people use one of a kind: who switches to Emacs no longer writes in Vim."""

from __future__ import annotations

__all__ = ["kind_of_tool"]

_KINDS_TEXT = """
    editor: vim neovim emacs vscode sublime nano pycharm intellij helix zed atom cursor notepad eclipse webstorm
    database: postgres postgresql mysql mariadb sqlite mongodb oracle cassandra dynamodb cockroachdb couchdb
    ci: jenkins gitlab github circleci travis buildkite teamcity drone bitbucket
    packages: npm yarn pnpm bun pip poetry pipenv conda uv
    cloud: aws gcp azure hetzner heroku digitalocean ovh linode vercel netlify
    system: windows macos linux ubuntu fedora debian arch mint
    phone: iphone android pixel samsung nokia fairphone
    browser: chrome firefox safari edge brave vivaldi opera
    chat: slack teams discord mattermost zulip
    notes: notion obsidian evernote onenote roam logseq joplin
    shell: bash zsh fish powershell
    framework: django flask fastapi rails laravel spring express
    frontend: react vue angular svelte
    search: elasticsearch opensearch solr meilisearch typesense
    queue: kafka rabbitmq nats sqs celery
    tests: pytest unittest nose jest mocha vitest junit
    format: black ruff prettier yapf
    tracker: jira linear trello asana youtrack redmine
    mail: gmail outlook fastmail protonmail proton hotmail
    music: spotify tidal deezer
    bank: revolut monzo n26 wise barclays hsbc
    money: stripe paypal adyen mollie braintree
    containers: docker podman
    orchestration: kubernetes nomad swarm
"""
_KINDS = {
    word: kind.strip()
    for line in _KINDS_TEXT.strip().splitlines()
    for kind, _, words in [line.partition(":")]
    for word in words.split()
}


def kind_of_tool(key: str) -> str | None:
    """What a tool is for, if it is one of which people use one; None for any other word."""
    return _KINDS.get(key)
